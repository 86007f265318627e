package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// onlyWhole names the hostile files whose structure is sound: they are refused
// once their bodies are read, and not before.
var onlyWhole = []string{
	"gguf/array-bool-2",
	"gguf/array-nested-text",
	"gguf/array-text-far",
	"gguf/array-text-long",
	"gguf/array-text-not-utf8",
	"gguf/array-text-nul",
	"gguf/padding-between",
	"gguf/padding-header",
	"gguf/padding-last",
	"gguf/strict-token-byte",
	"gguf/strict-token-nul",
	"gguf/strict-tokens-equal",
	"hdf5/chunk-inflated",
	"hdf5/chunk-lzf",
	"hdf5/chunk-sum",
	"hdf5/chunk-zlib",
	"hdf5/made-chunk-adler",
	"hdf5/made-chunk-longer",
	"hdf5/made-chunk-lzf-short",
	"hdf5/made-chunk-tail",
	"hdf5/made-shuffle-width",
	"hdf5/made-sum-short",
	"keras/chunk-lzf",
	"keras/chunk-sum",
	"keras/chunk-zlib",
	"keras/config-crc",
	"keras/weights-crc",
	"npz/crc-wrong",
	"npz/crc-wrong-opaque",
	"npz/deflate-ends-early",
	"npz/deflate-longer",
	"npz/deflate-trailing",
	"onnx/sparse-order",
	"onnx/sparse-place",
	"pth/crc-storage",
	"pth/csr-beyond",
	"pth/csr-column",
	"pth/csr-column-twice",
	"pth/csr-falling",
	"pth/csr-first-row",
	"pth/csr-last-row",
	"pth/sparse-index-negative",
	"pth/sparse-index-outside",
	"pth/sparse-not-coalesced",
	"safetensors/hqq-expression",
}

// A said is the result of one way to read a file.
type said struct {
	Class   string
	Where   string
	Offset  int64
	Axis    string
	Tensors []string
	Total   int64
}

// ways are the ways in which the library is given the same bytes.
var ways = []struct {
	name string
	open func(b *limits.Budget, path string, data []byte) (tensor.Model, error)

	unnamed bool // the name is not given
}{
	{name: "a path", open: func(b *limits.Budget, path string, _ []byte) (tensor.Model, error) { return parser.Open(b, path) }},
	{name: "a folder's file system", open: func(b *limits.Budget, path string, _ []byte) (tensor.Model, error) {
		return parser.OpenFS(b, os.DirFS(filepath.Dir(path)), filepath.Base(path))
	}},
	{unnamed: true, name: "an io.ReaderAt", open: func(b *limits.Budget, _ string, data []byte) (tensor.Model, error) {
		return parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	}},
	{unnamed: true, name: "a reader of small pieces", open: func(b *limits.Budget, _ string, data []byte) (tensor.Model, error) {
		n := 1
		if len(data) > 1<<16 {
			n = 4093
		}
		return parser.Decode(b, pieces{data, n}, int64(len(data)))
	}},
}

// pieces is a ReaderAt that returns at most n bytes a call.
type pieces struct {
	data []byte
	n    int
}

func (p pieces) ReadAt(q []byte, off int64) (int, error) {
	if off >= int64(len(p.data)) {
		return 0, io.EOF
	}
	return copy(q[:min(len(q), p.n)], p.data[off:]), nil
}

// A reading is one file with the library's verdict.
type reading struct {
	name, path, policy string // policy is a path too
	data               []byte
	ceilings           limits.Policy
	structure, whole   said

	byName  bool                      // only its name shows its kind
	printed map[string]map[string]any // by command and depth, of its path
}

func TestCommandsAgreeAboutEachFileOfTheCorpus(t *testing.T) {
	var list []*reading
	var whole []string
	dir, found := t.TempDir(), 0
	add := func(format, name string, data []byte, policy json.RawMessage) {
		if found++; !effort.Some(found) {
			return
		}
		r := &reading{name: format + "/" + name, data: data, byName: format == "onnx", printed: map[string]map[string]any{}}
		t.Run(r.name, func(t *testing.T) { r.read(t, filepath.Join(dir, fmt.Sprint(len(list))), format, policy) })
		if r.structure.Class == "ok" && r.whole.Class != "ok" {
			whole = append(whole, r.name)
		}
		list = append(list, r)
	}
	for _, format := range corpus.Formats() {
		for _, r := range corpus.Hostile(format) {
			add(format, r.Name, r.Bytes(), r.Policy)
		}
		for _, s := range corpus.Valid(format) {
			var policy json.RawMessage
			if s.Recipe != nil {
				policy = s.Recipe.Policy
			}
			add(format, s.Name, s.Data, policy)
		}
	}
	slices.Sort(whole)
	if diff := cmp.Diff(onlyWhole, whole); diff != "" && !effort.Race {
		t.Errorf("files that only the reading of bodies refuses: %s", diff)
	}
	fromPaths(t, list)
	for i, r := range list {
		if (effort.Whole() || i%5 == 0) && !r.byName {
			fromStdin(t, r, i/5)
		}
	}
}

// read asks the library in every way and keeps what all of them say.
func (r *reading) read(t *testing.T, dir, format string, policy json.RawMessage) {
	// A neutral name: the name of a shard would open the whole set.
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r.path = filepath.Join(dir, "model."+format)
	if err := os.WriteFile(r.path, r.data, 0o666); err != nil {
		t.Fatal(err)
	}
	if policy == nil {
		policy = json.RawMessage("{}")
	}
	var err error
	if r.ceilings, err = limits.ParsePolicy(policy); err != nil {
		t.Fatal(err)
	}
	r.policy = filepath.Join(filepath.Dir(dir), fmt.Sprintf("policy-%x.json", sha256.Sum256(policy)))
	if err := os.WriteFile(r.policy, policy, 0o666); err != nil {
		t.Fatal(err)
	}
	for i, w := range ways {
		s, v := library(t, w.open, r.path, r.data, r.ceilings)
		if i == 0 {
			r.structure, r.whole = s, v
			continue
		}
		if r.byName && w.unnamed {
			continue
		}
		if diff := cmp.Diff([]said{r.structure, r.whole}, []said{s, v}); diff != "" {
			t.Errorf("%s is another than by %s: %s", w.name, ways[0].name, diff)
		}
	}
}

// A depth is a command, and the answer that is expected.
type depth struct {
	flags []string
	want  func(*reading) said
}

func depths(r *reading) []depth {
	list := []depth{{[]string{"--limits", r.policy}, func(r *reading) said { return r.whole }}}
	if flags, ok := asFlags(r.ceilings); ok {
		list = append(list, depth{flags, func(r *reading) said { return r.structure }})
	}
	return list
}

// fromPaths gives the program the paths of all files under one policy at once.
func fromPaths(t *testing.T, list []*reading) {
	under := map[string][]*reading{}
	for _, r := range list {
		under[r.policy] = append(under[r.policy], r)
	}
	for _, group := range under {
		for k, d := range depths(group[0]) {
			for _, command := range []string{"inspect", "parse"} {
				args := append([]string{command, "--json", "-q"}, d.flags...)
				for _, r := range group {
					args = append(args, r.path)
				}
				lines, code := program(t, args, nil)
				if len(lines) != len(group) {
					t.Fatalf("%s of %d files printed %d lines", command, len(group), len(lines))
				}
				worst := 0.0
				for i, r := range group {
					worst = max(worst, check(t, command+" "+r.name, lines[i], d.want(r)))
					r.printed[fmt.Sprint(command, k)] = lines[i]
				}
				if float64(code) != worst {
					t.Errorf("%s %v: exit %d, the worst file has %v", command, d.flags, code, worst)
				}
			}
		}
	}
}

// fromStdin gives it one file on standard input, to each command and at each depth
// in turn.
func fromStdin(t *testing.T, r *reading, turn int) {
	all := depths(r)
	k, command := turn/2%len(all), []string{"inspect", "parse"}[turn%2]
	d := all[k]
	lines, code := program(t, append([]string{command, "--json", "-q", "-"}, d.flags...), r.data)
	if len(lines) != 1 {
		t.Fatalf("%s printed %d lines of standard input", command, len(lines))
	}
	if exit := check(t, command+" - of "+r.name, lines[0], d.want(r)); exit != float64(code) {
		t.Errorf("%s - of %s: exit %d, printed %v", command, r.name, code, exit)
	}
	of := r.printed[fmt.Sprint(command, k)]
	for _, o := range []map[string]any{of, lines[0]} {
		delete(o, "path")
		if e, ok := o["error"].(map[string]any); ok {
			delete(e, "message") // says how much was left, and names the file
		}
	}
	if diff := cmp.Diff(of, lines[0]); diff != "" {
		t.Errorf("%s says another thing of %s on standard input: %s", command, r.name, diff)
	}
}

// library reads by one way, structure and whole.
func library(t *testing.T, open func(*limits.Budget, string, []byte) (tensor.Model, error), path string, data []byte, p limits.Policy) (structure, whole said) {
	t.Helper()
	b := p.Budget(t.Context())
	defer b.Close()
	m, err := open(b, path, data)
	if err != nil {
		s := refused(err)
		return s, s
	}
	defer m.Close()
	structure = said{Class: "ok", Offset: -1}
	for i := range m.Tensors() {
		structure.Tensors = append(structure.Tensors, fmt.Sprintf("%q %s %v %d+%d", i.Name, i.TypeName(), i.Shape, i.Span.Off, i.Span.Len))
		structure.Total += i.Bytes()
	}
	if err := parser.Verify(b, m); err != nil {
		return structure, refused(err)
	}
	return structure, structure
}

func refused(err error) said {
	s := said{Class: parser.ClassOf(err).String(), Offset: -1}
	if e, ok := errors.AsType[*parser.Error](err); ok {
		s.Where, s.Offset = e.Where, e.Off
	}
	if e, ok := errors.AsType[*limits.Error](err); ok {
		s.Axis = e.Axis.String()
	}
	return s
}

// asFlags writes a policy as flags; false if it has more than ceilings.
func asFlags(p limits.Policy) ([]string, bool) {
	if len(p.Quirks)+len(p.RefuseFormats)+len(p.RefuseFindings) > 0 || p.RefuseUnknownMembers {
		return nil, false
	}
	var flags []string
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"single-alloc", p.MaxSingleAlloc}, {"total", p.MaxTotalBytes}, {"items", p.MaxItems}, {"inflate-ratio", p.MaxInflateRatio},
		{"expand-ratio", p.MaxExpandRatio}, {"depth", p.MaxDepth}, {"steps", p.MaxSteps}, {"working-set", p.MaxWorkingSet}, {"open-files", p.MaxOpenFiles}, {"requests", p.MaxRequests}, {"fetched", p.MaxFetched},
	} {
		if f.v != 0 {
			flags = append(flags, fmt.Sprintf("--max-%s=%d", f.name, f.v))
		}
	}
	if p.Timeout != 0 {
		flags = append(flags, "--timeout="+limits.FormatTimeout(p.Timeout))
	}
	return flags, true
}

// program runs a command and returns the objects that it prints.
func program(t *testing.T, args []string, in []byte) ([]map[string]any, int) {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), args, cli.Stdio{In: io.MultiReader(bytes.NewReader(in)), Out: &out, Err: &errs})
	var list []map[string]any
	for d := json.NewDecoder(&out); d.More(); {
		var got map[string]any
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%v: %v: %s", args[:3], err, &errs)
		}
		list = append(list, got)
	}
	return list, code
}

// check compares what the program printed of a file with what the library said. It
// returns the exit code that was printed.
func check(t *testing.T, who string, got map[string]any, want said) float64 {
	t.Helper()
	if got["class"] != want.Class {
		t.Errorf("%s: class %v; the library says %+v", who, got["class"], want)
	}
	if e, ok := got["error"].(map[string]any); ok {
		where(t, who, e, want)
	} else if totals, ok := got["totals"].(map[string]any); !ok || !number(totals["bytes"], want.Total) || !number(totals["tensors"], int64(len(want.Tensors))) {
		t.Errorf("%s: totals %v; the library says %d tensors of %d bytes", who, got["totals"], len(want.Tensors), want.Total)
	}
	exit, _ := got["exit"].(float64)
	return exit
}

func where(t *testing.T, who string, e map[string]any, want said) {
	t.Helper()
	if off, has := e["offset"]; has && !number(off, want.Offset) || !has && want.Offset >= 0 {
		t.Errorf("%s: offset %v, the library says %#x", who, off, want.Offset)
	}
	if axis, _ := e["axis"].(string); axis != want.Axis {
		t.Errorf("%s: axis %q, the library says %q", who, axis, want.Axis)
	}
}

// number compares a number of JSON, which is text past 2^53.
func number(v any, want int64) bool {
	switch v := v.(type) {
	case float64:
		return int64(v) == want
	case string:
		return v == fmt.Sprint(want)
	default:
		return false
	}
}
