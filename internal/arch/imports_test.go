package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Who may import whom. Paths of this module are without its name; a folder with /... stands for all
// below it. An import that is not listed is forbidden, and so is a package without a row.
const (
	flate  = "github.com/klauspost/compress/flate"
	gzip   = "github.com/klauspost/compress/gzip"
	zlib   = "github.com/klauspost/compress/zlib"
	zstd   = "github.com/klauspost/compress/zstd"
	snappy = "github.com/klauspost/compress/snappy"
	cpuid  = "github.com/klauspost/cpuid/v2"
	sys    = "golang.org/x/sys/..."
	diff   = "github.com/google/go-cmp/cmp"
	kong   = "github.com/alecthomas/kong"
)

var bottom = []string{"limits", "internal/wire", "internal/strictjson"}

func with(base []string, more ...string) []string { return append(slices.Clone(base), more...) }

var format = with(bottom, "parser/tensor")

// scheme is what the folder of a scheme may import. One that is another under other names
// imports that.
var scheme = with(format, "asm", "internal/form", "internal/config", "internal/scheme", "internal/encode", "internal/jsontree", "internal/loaders", "internal/transformers", "quant/...")

// judges is what the gate may import: what it opens files with, and the package that judges each
// kind of content.
var judges = with(bottom, "parser", "parser/...", "vm", "quant",
	"internal/ahead",
	"internal/folder",
	"internal/polyglot",
	"internal/sidecar",
	"internal/stamp",
	"internal/unpack",
)

// rooms is what a family of commands may import: the packages that families share, never another
// family.
var rooms = with(format, "cli/internal/coverage", "cli/internal/disk", "cli/internal/fault", "cli/internal/flags", "cli/internal/jsonout", "cli/internal/judging", "cli/internal/policies", "cli/internal/report", "cli/internal/run", "cli/internal/targets", "cli/internal/term", "parser", "parser/...", "quant", "vm")

var mayImport = map[string][]string{
	"limits":                {"internal/watch"},
	"limits/limitstest":     {"limits", "internal/watch"},
	"internal/watch":        {},
	"internal/wire":         {"limits"},
	"internal/strictjson":   {"limits", "internal/wire"},
	"internal/ahead":        {},
	"internal/skips":        {},
	"internal/site":         {"internal/output"},
	"internal/jinja":        {"limits", "internal/wire"},
	"internal/jsontree":     format,
	"internal/tokenizer":    with(format, "internal/jsontree"),
	"internal/memory":       with(format, "internal/jsontree"),
	"internal/family":       with(format, "internal/jsontree", "internal/tokenizer"),
	"internal/loaders":      {},
	"internal/width":        {},
	"internal/browse":       {"internal/width", "internal/wire"},
	"internal/tiles":        {sys},
	"internal/output":       {sys},
	"internal/journal":      {"limits", "internal/wire"},
	"internal/guard":        {sys},
	"internal/sandbox":      {sys},
	"internal/polyglot":     {"limits", "internal/wire", "vm", flate},
	"internal/protobuf":     {"limits", "internal/wire"},
	"internal/flatbuffers":  {"limits", "internal/wire"},
	"internal/narrow":       {"limits", "internal/wire"},
	"internal/leveldb":      {"limits", "internal/wire", snappy},
	"internal/grid":         {"limits", "internal/wire"},
	"internal/torchcode":    {"limits", "internal/wire"},
	"parser/onnx":           with(format, "internal/protobuf", "internal/narrow"),
	"parser/dcp":            with(format, "vm", "parser/pth", "internal/grid"),
	"parser/tfbundle":       with(format, "internal/protobuf", "internal/leveldb", "internal/grid"),
	"parser/deepspeed":      with(format, "vm", "parser/pth"),
	"parser/ggml":           with(format, "parser/gguf"),
	"parser/tflite":         with(format, "internal/flatbuffers", "internal/narrow", "parser/zip"),
	"parser/hdf5":           with(format, "parser/zip", zlib),
	"parser/keras":          with(format, "parser/hdf5", "parser/zip"),
	"internal/msgpack":      {"limits", "internal/wire"},
	"internal/sidecar":      with(format, "internal/jinja", "internal/folder", "internal/msgpack"),
	"internal/bzip2":        {"limits", "internal/wire"},
	"internal/lzma":         {"limits", "internal/wire"},
	"internal/unpack":       with(bottom, "internal/bzip2", "internal/lzma", "internal/polyglot", "parser/zip", flate, gzip, zlib, zstd),
	"internal/fixtures":     {},
	"internal/faulty":       {},
	"internal/stamp":        {},
	"internal/folder":       {"internal/wire"},
	"internal/effort":       {},
	"internal/spool":        {sys},
	"internal/pace":         {"limits"},
	"internal/quanttest":    {"asm", "limits", "parser/tensor", "quant"},
	"internal/converttest":  with(format, "convert", "convert/forms", "parser", "parser/gguf", "parser/safetensors", "quant", "quant/ggml", "quant/ggml/..."),
	"internal/ledger":       {"limits/limitstest"},
	"internal/corpustest":   {"corpus", "limits", "limits/limitstest", "internal/faulty", "internal/ledger", "internal/wire", "parser/tensor"},
	"internal/arch":         {},
	"asm":                   {cpuid},
	"internal/sparse":       {},
	"vm":                    {"limits", "internal/sparse", "internal/wire"},
	"parser/tensor":         bottom,
	"parser/safetensors":    format,
	"parser/gguf":           with(format, "internal/jinja"),
	"parser/gguf/edit":      with(format, "parser/gguf"),
	"parser/npy":            format,
	"parser/zip":            with(format, flate),
	"parser/npz":            with(format, "parser/npy", "parser/zip", "internal/polyglot", flate),
	"parser/pth":            with(format, "parser/zip", "internal/polyglot", "internal/torchcode", "vm", flate),
	"parser/ollama":         format,
	"parser":                with(format, "parser/...", "internal/polyglot", "internal/lzma", "vm"),
	"internal/form":         with(format, "asm"),
	"internal/config":       with(format, "internal/jsontree"),
	"internal/scheme":       with(format, "asm", "internal/form", "internal/config", "internal/jsontree"),
	"internal/encode":       with(format, "asm", "internal/scheme", "internal/jsontree", "internal/loaders", "internal/transformers", "quant/scaled"),
	"quant/...":             scheme,
	"quant/ggml/imatrix":    with(format, "parser/gguf", "quant/ggml"),
	"quant":                 with(scheme, "quant/..."),
	"convert":               with(format, "asm", "internal/form", "internal/encode", "internal/inputs", "quant", "quant/scaled", "parser", "parser/...", "vm", "internal/output", "internal/journal", "internal/stamp", "internal/tiles", "internal/model", "internal/transformers", "internal/jsontree", "internal/loaders"),
	"convert/forms":         with(format, "asm", "internal/encode", "internal/family", "internal/model", "parser", "parser/gguf", "parser/safetensors", "quant", "quant/mxfp4"),
	"internal/elements":     format,
	"internal/number":       with(format, "internal/elements", "quant"),
	"compare":               with(format, "quant", "internal/elements", "internal/number"),
	"internal/transformers": {"parser/tensor"},
	"internal/model":        with(format, "asm", "internal/form", "internal/encode", "quant"),
	"internal/inputs":       with(format, "parser", "parser/gguf", "parser/safetensors", "quant"),
	"merge":                 with(format, "asm", "internal/model", "internal/inputs", "internal/jsontree", "internal/loaders", "parser/safetensors"),
	"merge/lora":            with(format, "asm", "internal/model", "internal/inputs", "internal/jsontree", "internal/loaders", "internal/transformers", "parser/gguf", "convert"),
	"digest":                with(format, "internal/ahead", "internal/elements"),
	"stats":                 with(format, "quant", "internal/elements", "internal/number"),
	"gate":                  judges,
	"gate/host":             {"limits", "gate", "internal/folder", "internal/wire", "internal/spool"},
	"gate/handler":          {"limits", "gate", "gate/host", "internal/folder", "internal/pace", "internal/wire"},
	"gate/api":              {"limits", "gate", "gate/host", "gate/handler", "gate/page", "gate/receipt", "internal/pace", "internal/wire", "parser", "parser/tensor", "vm"},
	"gate/receipt":          {"gate", "gate/attest", "internal/wire"},
	"gate/clamd":            {"limits", "gate", "gate/host", "internal/folder", "internal/pace", "internal/wire", "parser/tensor", sys},
	"gate/attest":           {"digest", "limits", "internal/strictjson", "internal/wire"},
	"gate/bom":              {"limits", "gate", "digest", "internal/wire", "parser/tensor"},
	"gate/page":             {"gate", "limits", "internal/jsontree", "internal/wire", "parser/pth", "parser/tensor", "quant"},
	"gate/report":           {"gate", "internal/wire", "parser/tensor"},
	"cli/internal/term":     {"internal/width", "internal/wire", "parser/tensor", sys},
	"cli/internal/jsonout":  {"internal/wire", "parser/pth"},
	"cli/internal/fault":    {"cli/internal/jsonout", "cli/internal/term", "limits", "parser", "convert", "internal/folder", "internal/wire"},
	"cli/internal/disk":     {"cli/internal/fault", "cli/internal/term", "limits", "internal/folder", "internal/output", "internal/wire", "parser/gguf", "parser/tensor"},
	"cli/internal/policies": {"cli/internal/disk", "cli/internal/fault", "gate", "limits"},
	"cli/internal/run":      {"cli/internal/fault", "cli/internal/policies", "cli/internal/term", "limits", "internal/spool", "internal/wire", "parser", "parser/tensor", "vm"},
	"cli/internal/flags":    {"cli/internal/fault", "cli/internal/run", "limits", "internal/sandbox", "internal/wire", "parser/ollama", "parser/pth", "quant"},
	"cli/internal/report":   {"cli/internal/fault", "cli/internal/flags", "cli/internal/jsonout", "cli/internal/run", "cli/internal/term", "limits", "gate", "internal/memory", "internal/wire", "parser", "parser/...", "quant", "stats"},
	"cli/internal/judging":  {"cli/internal/disk", "cli/internal/fault", "cli/internal/flags", "cli/internal/report", "cli/internal/run", "gate", "gate/report", "internal/wire", "limits", "parser/tensor"},
	"cli/internal/coverage": {"cli/internal/disk", "cli/internal/term", "gate/attest", "internal/folder", "internal/stamp", "internal/wire", "limits", "parser", "parser/onnx", "parser/tensor"},
	"cli/internal/targets":  {"internal/encode", "quant", "quant/ggml", "quant/ggml/mix"},
	"cli/internal/view":     with(rooms, "compare", "internal/browse", "internal/elements", "internal/folder", "stats", "gate", "gate/page", "asm"),
	"cli/internal/verify":   with(rooms, "compare", "convert", "convert/forms", "digest", "gate/attest", "internal/folder", "internal/stamp"),
	"cli/internal/scan":     with(rooms, "digest", "gate", "gate/attest", "gate/bom", "internal/output", "internal/polyglot", "internal/stamp"),
	"cli/internal/serve":    with(rooms, "gate", "gate/...", "internal/folder", "internal/pace", "internal/sandbox", "internal/spool", sys),
	"cli/internal/write":    with(rooms, "convert", "convert/...", "internal/encode", "internal/folder", "internal/journal", "internal/output", "internal/stamp", "merge", "merge/...", "quant/ggml", "quant/ggml/..."),
	"cli/internal/about":    with(rooms, "asm", "gate", "internal/encode", "internal/sandbox"),
	"cli":                   {"cli/internal/...", "asm", "limits", "parser", "parser/tensor", "quant", "internal/wire", kong},
	"cli/amn":               {"cli"},
	"release/sign":          {"gate/attest", "internal/output"},
	"examples/...":          {"limits", "gate", "gate/...", "parser", "parser/...", "quant", "convert"},
	"corpus":                {},
	"corpus/...":            {"corpus", "internal/output"},
	"fuzz/libfuzzer":        {},
	"crosscheck/cost":       {"gate", "limits", "internal/watch", "internal/wire", "parser", "parser/tensor", "quant", "convert", "compare", "digest", "stats", "corpus", flate, gzip, zlib, zstd},
	"fuzz":                  {"gate", "gate/...", "limits", "limits/limitstest", "internal/...", "parser", "parser/...", "vm", "asm", "quant", "quant/ggml", "quant/ggml/...", "convert", "convert/...", "merge", "merge/...", "compare", "digest", "corpus", diff},
	"crosscheck/...":        {"limits", "internal/...", "parser", "parser/...", "vm", "asm", "quant", "quant/bnb", "quant/scaled", "convert", "corpus", "crosscheck/values", diff},
}

func row(may map[string][]string, dir string) ([]string, bool) {
	if r, ok := may[dir]; ok {
		return r, true
	}
	for at := dir; strings.Contains(at, "/"); {
		at = at[:strings.LastIndex(at, "/")]
		if r, ok := may[at+"/..."]; ok {
			return r, true
		}
	}
	return nil, false
}

func allowed(row []string, name string) bool {
	return slices.ContainsFunc(row, func(r string) bool {
		folder, all := strings.CutSuffix(r, "/...")
		return r == name || all && strings.HasPrefix(name, folder+"/")
	})
}

// Every file counts, whatever system or tag it is built for.
func TestImportsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		for _, text := range misplaced(t, mayImport, s) {
			t.Error(text)
		}
	}
}

// misplaced lists the imports of a file that the table does not allow.
func misplaced(t *testing.T, may map[string][]string, s *source) (list []string) {
	t.Helper()
	r, ok := row(may, s.dir())
	if !ok {
		return []string{fmt.Sprintf("%s: the package %s has no row in the table of imports", s.path, s.dir())}
	}
	for _, spec := range s.tree.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		ours := strings.HasPrefix(name, module+"/") || name == module
		name = strings.TrimPrefix(name, module+"/")
		switch {
		case !ours && !strings.Contains(strings.Split(name, "/")[0], "."):
			if name == "C" {
				list = append(list, place(spec)+": cgo")
			}
		case allowed(r, name):
		case s.test() && allowed([]string{diff, diff + "/...", sys}, name):
		case s.test() && ours && testMayImport(s.dir(), name):
		default:
			list = append(list, fmt.Sprintf("%s: %s may not import %s", place(spec), s.dir(), name))
		}
	}
	return list
}

// A test may import any package of ours that does not import the tested one.
func testMayImport(dir, name string) bool {
	switch {
	case name == "fuzz" || name == dir:
		return name == dir
	case under(name, "cli"):
		return under(dir, "cli")
	case under(dir, "corpus"):
		return under(name, "corpus") // its recipes must not share a bug with our encoders
	default:
		return true
	}
}

// The packages that a build links, through all imports.
func TestWhatIsNeverLinked(t *testing.T) {
	for _, c := range []struct {
		pkg    string
		never  []string
		reason string
	}{
		{"./parser", []string{kong, cpuid, module + "/asm", module + "/quant", "net/http"}, "a host that only reads files builds no kernels and no command line"},
		{"./limits", []string{module + "/internal/wire"}, "the account stands at the bottom"},
		{"./quant", []string{module + "/parser/gguf", module + "/parser/safetensors", module + "/parser/pth", module + "/parser/zip", kong}, "schemes never meet a container"},
		{"./corpus", []string{module + "/internal/wire", module + "/limits"}, "recipes share nothing with the parsers"},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			for _, tags := range []string{"", "purego"} {
				deps := list(t, "-deps", "-tags="+tags, c.pkg)
				for _, never := range c.never {
					if slices.Contains(deps, never) {
						t.Errorf("links %s: %s", never, c.reason)
					}
				}
			}
		})
	}
}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard"}, args...)...)
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.Bytes())
	}
	var names []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, p.ImportPath)
	}
}
