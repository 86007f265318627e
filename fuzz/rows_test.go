package fuzz_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A table is what a reader knows, a row each, and what of it the honest files of the corpus
// use.
type table struct {
	name string
	rows func(t *testing.T) []string
	used func(t *testing.T, used map[string]bool)
	// unused are rows without a file, each with the reason.
	unused map[string]string
}

var tables = []table{
	{name: "instructions of pickles", rows: rowsOf("../vm/opcode.go", `\{"([A-Z0-9_]+)", \(\*machine\)`), used: func(t *testing.T, used map[string]bool) {
		for _, file := range append(valid(t, "pickle"), hostile(t, "pickle")...) {
			b := limits.Policy{}.Budget(t.Context())
			for line, err := range vm.Disassemble(b, bytes.NewReader(file.data), 0, int64(len(file.data))) {
				if err != nil {
					break
				}
				used[line.Op] = true
			}
			b.Close()
		}
	}, unused: map[string]string{
		"NEXT_BUFFER":     "refused: its buffers are outside of the file (corpus/hostile/pickle/next-buffer.txt)",
		"READONLY_BUFFER": "refused: the same (corpus/hostile/pickle/readonly-buffer.txt)",
	}},
	{name: "wrappers", rows: func(*testing.T) []string { return unpack.Kinds() }, used: func(t *testing.T, used map[string]bool) {
		for _, file := range valid(t, "wrap") {
			used[parser.IdentifyBeginning(file.data, 0, "").Packing] = true
		}
	}},
	{name: "types of GGUF", rows: typesThat(func(d tensor.DType) bool { _, ok := gguf.TypeOf(d); return ok }), used: typesIn("gguf")},
	{name: "types of safetensors", rows: typesThat(safetensors.Stores), used: typesIn("safetensors")},
	{name: "types of torch", rows: rowsOf("../parser/pth/dtype.go", `\{"(torch\.[a-z0-9_]+)", `), used: func(t *testing.T, used map[string]bool) {
		eachTensor(t, "pth", func(i *tensor.Info) { used[i.Stored] = true })
	}},
}

// rowsOf reads the rows of a table that is not exported from its source.
func rowsOf(path, pattern string) func(*testing.T) []string {
	return func(t *testing.T) (rows []string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			rows = append(rows, m[1])
		}
		return rows
	}
}

func typesThat(has func(tensor.DType) bool) func(*testing.T) []string {
	return func(*testing.T) (rows []string) {
		for _, d := range tensor.DTypes() {
			if has(d) {
				rows = append(rows, d.String())
			}
		}
		return rows
	}
}

func typesIn(format string) func(*testing.T, map[string]bool) {
	return func(t *testing.T, used map[string]bool) {
		eachTensor(t, format, func(i *tensor.Info) { used[i.DType.String()] = true })
	}
}

// eachTensor visits the tensors of the honest files of a format.
func eachTensor(t *testing.T, format string, visit func(*tensor.Info)) {
	t.Helper()
	row := formatOf(t, format)
	for _, file := range valid(t, format) {
		b := file.policy.Budget(t.Context())
		o, err := row.decode(b, bytes.NewReader(file.data), int64(len(file.data)))
		if err != nil {
			t.Fatalf("%s/%s: %v", format, file.name, err)
		}
		for i := range o.(model).Tensors() {
			visit(&i)
		}
		o.Close()
		b.Close()
	}
}

// A row that no committed file uses could be wrong, and no test of the corpus would say so.
func TestEachRowOfATableHasAFile(t *testing.T) {
	for _, table := range tables {
		t.Run(table.name, func(t *testing.T) {
			rows := table.rows(t)
			if len(rows) < 5 {
				t.Fatalf("rows %q", rows)
			}
			used := map[string]bool{}
			table.used(t, used)
			var missing []string
			for _, r := range rows {
				if why := table.unused[r]; used[r] == (why != "") {
					missing = append(missing, r)
				}
			}
			slices.Sort(missing)
			if len(missing) > 0 {
				t.Errorf("no file uses, or one uses what is listed as unused: %s", strings.Join(missing, " "))
			}
		})
	}
}
