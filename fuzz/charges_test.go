package fuzz_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	read "github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/ollama"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/vm"
)

// charging are the packages whose charges are accounted for.
var charging = append([]string{
	"vm", "gate", "quant", "parser", "parser/ggml", "parser/gguf", "parser/npy", "parser/npz", "parser/ollama", "parser/pth", "parser/safetensors", "parser/tensor", "parser/zip",
	"internal/config", "internal/scheme", "parser/hdf5", "parser/keras", "internal/jinja", "internal/jsontree", "internal/lzma", "parser/onnx", "parser/tflite", "internal/flatbuffers", "internal/narrow", "internal/torchcode", "internal/polyglot", "internal/protobuf", "internal/sidecar",
	"internal/strictjson", "internal/unpack", "internal/wire",
}, schemeFolders()...)

// schemeFolders lists the packages of schemes.
func schemeFolders() (list []string) {
	found, _ := filepath.Glob("../quant/*/doc.go")
	for _, name := range found {
		list = append(list, "quant/"+filepath.Base(filepath.Dir(name)))
	}
	return list
}

// verbs are the methods by which an account is charged, and the functions that charge before
// they allocate.
var verbs = map[string]bool{
	"Step": true, "Take": true, "Items": true, "Hold": true, "Alloc": true, "Enter": true, "Inflate": true, "Expand": true, "Lease": true, "OpenFile": true, "Fetch": true, "Request": true,
	"Make": true, "Append": true, "Grow": true, "String": true, "Clone": true, "Read": true, "Made": true,
}

// A site is a place that charges an account.
type site struct {
	file, text, verb string
	first, last      int // lines
	charged          bool
}

// sites lists the places of a package: calls of a method of an account, or of a function of
// package limits, whose error is looked at.
func sites(t *testing.T, pkg string) (list []*site) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f := call.Fun
			if i, ok := f.(*ast.IndexExpr); ok {
				f = i.X
			}
			sel, ok := f.(*ast.SelectorExpr)
			if !ok || !verbs[sel.Sel.Name] || !charges(sel) {
				return true
			}
			first, last := set.Position(call.Pos()).Line, set.Position(call.End()).Line
			list = append(list, &site{
				file: filepath.ToSlash(filepath.Join(pkg, filepath.Base(name))), verb: sel.Sel.Name, first: first, last: last,
				text: strings.TrimSpace(lines[first-1]),
			})
			return true
		})
	}
	return list
}

// accounts are the names that accounts, meters and workspaces have in this module.
var accounts = map[string]bool{"b": true, "Budget": true, "w": true, "budget": true, "account": true, "steps": true, "work": true, "ws": true, "inflation": true, "texts": true, "paid": true}

// charges reports whether a method is one of an account: by the name of what it is called on.
func charges(sel *ast.SelectorExpr) bool {
	switch x := sel.X.(type) {
	case *ast.Ident:
		if x.Name == "limits" {
			return true
		}
		return accounts[x.Name] && !slices.Contains([]string{"Make", "Append", "Grow", "Clone", "Read"}, sel.Sel.Name)
	case *ast.SelectorExpr:
		return accounts[x.Sel.Name] && !slices.Contains([]string{"Make", "Append", "Grow", "Clone", "Read"}, sel.Sel.Name)
	}
	return false
}

// A tracer notes which lines charge, and how much each function does.
type tracer struct {
	sync.Mutex
	seen   map[[8]uintptr]string // by the calls that led to a charge, the function that makes it
	lines  map[string]bool       // file:line, outside of package limits
	left   int                   // charges of this file that are still looked at
	ledger ledger
}

const module = "github.com/anamnesis-go/anamnesis/"

func (r *tracer) note(axis string, n int64) {
	r.Lock()
	defer r.Unlock()
	if r.left--; r.left < 0 {
		return
	}
	var at [8]uintptr
	runtime.Callers(4, at[:])
	if function, ok := r.seen[at]; ok {
		r.ledger.charge(function, axis, n)
		return
	}
	r.seen[at] = ""
	for frames := runtime.CallersFrames(at[:]); ; {
		f, more := frames.Next()
		name := strings.TrimPrefix(f.Function, module)
		if !strings.HasPrefix(name, "limits.") && name != f.Function && !strings.Contains(name, "/mutant.") {
			dir := filepath.ToSlash(filepath.Dir(f.File))
			for _, pkg := range charging {
				if strings.HasSuffix(dir, "/"+pkg) {
					r.lines[fmt.Sprintf("%s/%s:%d", pkg, filepath.Base(f.File), f.Line)] = true
					if !strings.HasPrefix(name, "fuzz_test.") { // the body of a loop over an iterator
						r.seen[at] = outermost(name)
						r.ledger.charge(r.seen[at], axis, n)
					}
				}
			}
			return
		}
		if !more {
			return
		}
	}
}

// begin is called before a file is read, and the function that it returns after that.
func (r *tracer) begin(name string, data []byte) func() {
	r.left = charges1
	r.ledger.now = map[string]int64{}
	return func() {
		if r.left >= 0 {
			r.ledger.end(name, data)
		}
	}
}

// readAll reads the whole corpus by every reader: as a model, as the gate, and decoded.
func (r *tracer) readAll(t *testing.T) {
	give := func(name, path string, data, policy []byte) {
		if len(data) > corpus.MaxSeed {
			return
		}
		defer r.begin(path, data)()
		p := limits.Policy{}
		if policy != nil {
			var err error
			if p, err = limits.ParsePolicy(policy); err != nil {
				t.Fatal(err)
			}
		}
		p.Timeout = limits.NoTimeout
		b := p.Budget(t.Context())
		defer b.Close()
		open := func() (tensor.Model, error) { return read.Decode(b, bytes.NewReader(data), int64(len(data))) }
		if strings.HasSuffix(name, ".onnx") { // told by its name
			open = func() (tensor.Model, error) { return read.OpenFS(b, fstest.MapFS{"m.onnx": {Data: data}}, "m.onnx") }
		}
		if m, err := open(); err == nil {
			read.Verify(b, m)
			safetensors.Encode(b, io.Discard, m)
			gguf.Encode(b, io.Discard, m, gguf.Options{})
			if bound, err := quant.Plan(b, m, quant.Options{}); err == nil {
				for range bound.All(b, m, quant.BF16) {
				}
			}
			m.Close()
		}
		g := gate.Gate{Policy: gate.Policy{Limits: p}}
		safetensors.DecodeHeader(b, bytes.NewReader(data))
		safetensors.CheckPrefix(b, data, int64(len(data)))
		stream := g.Stream(b, int64(len(data)), gate.Hint{Name: name})
		stream.Write(data)
		stream.Close()
		for range vm.Disassemble(b, bytes.NewReader(data), 0, int64(len(data))) {
		}
		if v, err := g.Check(b, bytes.NewReader(data), int64(len(data)), gate.Hint{Name: name}); err == nil {
			v.Close()
		}
	}
	for _, format := range corpus.Formats() {
		for _, h := range corpus.Hostile(format) {
			give("file."+format, h.Path(), h.Bytes(), h.Policy)
		}
		for _, s := range corpus.Valid(format) {
			give(s.Name, format+"/"+s.Name, s.Data, nil)
		}
	}
	for _, h := range corpus.Gate() {
		if h.Folder {
			r.readFolder(t, h.Path(), h.Bytes(), h.File)
		} else {
			give(h.File, h.Path(), h.Bytes(), nil)
		}
	}
	for _, c := range corpus.Quant() {
		r.plan(t, "quant/"+c.Name, c.Files, c.Open)
	}
	r.readTree(t)
	schemes, err := filepath.Glob("../quant/*/testdata/*/oracle.txt")
	if err != nil || len(schemes) < 150 {
		t.Fatal(len(schemes), err)
	}
	for _, oracle := range schemes {
		dir := filepath.Dir(oracle)
		r.plan(t, filepath.Base(dir), os.DirFS(dir), ".")
	}
}

// readTree reads, changes and writes a tree of JSON.
func (r *tracer) readTree(t *testing.T) {
	defer r.begin("a tree", nil)()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v, err := jsontree.Read(b, fstest.MapFS{"a.json": {Data: []byte(`{"a":[1,"two",null,{"b":true}],"c":2.5}`)}}, "a.json", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if s := (strictjson.Text{Format: "tree", Body: `"b"`}); strictjson.Decode(b, s, func(d *strictjson.Decoder) error { return v.Put(b, d, "new") }) != nil {
		t.Error("it takes no member")
	}
	text := jsontree.NewText(b)
	text.Step()
	text.Quote("a")
}

// plan plans a quantized model as the folder of an unquantized one, and writes a model in each
// format.
func (r *tracer) plan(t *testing.T, path string, fsys fs.FS, name string) {
	defer r.begin(path, nil)()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	m, err := read.OpenFS(b, fsys, name)
	if err != nil {
		return
	}
	defer m.Close()
	quant.Plan(b, m, quant.Options{Folder: true, IgnoreUnknown: []string{"twist", "weight_shift", "mystery", "quant_method"}})
	for _, sink := range []convert.Sink{convert.Safetensors{}, convert.GGUF{}, convert.NPZ{}} {
		if plan, err := convert.NewPlan(b, m, convert.Options{Sink: sink, NoSync: true, Threads: 1}); err == nil {
			plan.Write(filepath.Join(t.TempDir(), "out"), true)
			plan.Close()
		}
	}
}

// readFolder judges and opens the folder that an archive of a recipe is.
func (r *tracer) readFolder(t *testing.T, path string, archive []byte, name string) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{}
	for _, f := range z.File {
		body, err := fs.ReadFile(z, f.Name)
		if err == nil {
			folder[f.Name] = &fstest.MapFile{Data: body, Mode: 0o666}
		}
	}
	end := r.begin(path, archive)
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	for range new(gate.Gate).CheckFS(b, folder, ".", "") {
	}
	if n, err := ollama.ParseName(name); err == nil {
		if m, err := read.OpenStore(b, folder, n); err == nil {
			m.Close()
		}
	}
	end()
	r.plan(t, "planned/"+path, folder, cmp.Or(name, "."))
}

// charges1 is how many charges of one file are looked at.
const charges1 = 20_000

// knownCharges has the number of places of each package, which only becomes smaller with a
// reason, and those that no file of the corpus makes charge, of which there may only be fewer.
const knownCharges = "testdata/charges.txt"

// Each place that charges an account does so when the files of the corpus are read: one that
// is dropped is noticed, whatever the file costs without it.
func TestEveryPlaceThatChargesIsReached(t *testing.T) {
	r := &tracer{seen: map[[8]uintptr]string{}, lines: map[string]bool{}, ledger: readLedger(t)}
	limitstest.Watch(t, r.note)
	r.readAll(t)
	r.ledger.check(t)
	known, err := os.ReadFile(knownCharges)
	if err != nil {
		t.Fatal(err)
	}
	excused, before := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(known)) {
		var pkg string
		var n int
		if _, err := fmt.Sscanf(line, "= %d %s\n", &n, &pkg); err == nil {
			before[pkg] = n
		}
		if key, _, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t|\t"); ok && !strings.HasPrefix(line, "#") {
			excused[key]++
		}
	}
	all, reached := 0, 0
	for _, pkg := range charging {
		list := sites(t, pkg)
		if n := len(list); n < before[pkg] {
			t.Errorf("%s: %d places charge an account, and there were %d: where one is no longer needed, write the number into %s and the reason into the commit", pkg, n, before[pkg], knownCharges)
		}
		for _, s := range list {
			all++
			for line := s.first; line <= s.last && !s.charged; line++ {
				s.charged = r.lines[fmt.Sprintf("%s:%d", s.file, line)]
			}
			key := s.file + "\t" + s.text
			switch {
			case s.charged:
				reached++
			case excused[key] > 0:
				excused[key]--
			default:
				t.Errorf("%s:%d charges nothing, whatever file of the corpus is read; add a recipe, or a line to %s with the reason: %s", s.file, s.first, knownCharges, s.text)
			}
		}
	}
	for key, n := range excused {
		if n > 0 {
			t.Errorf("listed in %s, and it charges or is gone: %s", knownCharges, key)
		}
	}
	t.Logf("%d places charge, %d of them for files of the corpus", all, reached)
}
