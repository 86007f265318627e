package cli_test

import (
	"bytes"
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
	"npz/crc-wrong",
	"npz/crc-wrong-opaque",
	"npz/deflate-ends-early",
	"npz/deflate-longer",
	"npz/deflate-trailing",
	"pth/crc-storage",
	"pth/csr-beyond",
	"pth/csr-column",
	"pth/csr-falling",
	"pth/sparse-index-negative",
	"pth/sparse-index-outside",
	"pth/sparse-not-coalesced",
}

// A said is what one way of reading a file comes to.
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
}{
	{"a path", func(b *limits.Budget, path string, _ []byte) (tensor.Model, error) { return parser.Open(b, path) }},
	{"a folder's file system", func(b *limits.Budget, path string, _ []byte) (tensor.Model, error) {
		return parser.OpenFS(b, os.DirFS(filepath.Dir(path)), filepath.Base(path))
	}},
	{"an io.ReaderAt", func(b *limits.Budget, _ string, data []byte) (tensor.Model, error) {
		return parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	}},
	{"a reader of small pieces", func(b *limits.Budget, _ string, data []byte) (tensor.Model, error) {
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

func TestOneAnswerWhateverTheWay(t *testing.T) {
	var whole []string
	for _, name := range corpus.Formats() {
		for _, r := range corpus.Hostile(name) {
			t.Run(name+"/"+r.Name, func(t *testing.T) {
				if oneAnswer(t, name, r.Bytes(), r.Policy) {
					whole = append(whole, name+"/"+r.Name)
				}
			})
		}
		for _, s := range corpus.Valid(name) {
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				var policy json.RawMessage
				if s.Recipe != nil {
					policy = s.Recipe.Policy
				}
				oneAnswer(t, name, s.Data, policy)
			})
		}
	}
	slices.Sort(whole)
	if diff := cmp.Diff(onlyWhole, whole); diff != "" {
		t.Errorf("files that only the reading of bodies refuses: %s", diff)
	}
}

// oneAnswer compares every way at both depths. It reports whether only the
// whole reading refuses the file.
func oneAnswer(t *testing.T, format string, data []byte, policy json.RawMessage) bool {
	t.Helper()
	// A name that says nothing: one of a set would open the set by its path.
	path := filepath.Join(t.TempDir(), "model."+format)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var p limits.Policy
	if policy == nil {
		policy = json.RawMessage("{}")
	} else {
		var err error
		if p, err = limits.ParsePolicy(policy); err != nil {
			t.Fatal(err)
		}
	}
	policyFile := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(policyFile, policy, 0o666); err != nil {
		t.Fatal(err)
	}
	var structure, whole said
	for i, w := range ways {
		s, v := library(t, w.open, path, data, p)
		if i == 0 {
			structure, whole = s, v
			continue
		}
		if diff := cmp.Diff([]said{structure, whole}, []said{s, v}); diff != "" {
			t.Errorf("%s is another than by %s: %s", w.name, ways[0].name, diff)
		}
	}
	program(t, path, data, []string{"--limits", policyFile}, whole)
	if flags, ok := asFlags(p); ok && !raceEnabled {
		program(t, path, data, flags, structure)
	}
	return structure.Class == "ok" && whole.Class != "ok"
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
		{"expand-ratio", p.MaxExpandRatio}, {"depth", p.MaxDepth}, {"steps", p.MaxSteps}, {"working-set", p.MaxWorkingSet},
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

// program runs the commands on the path and on standard input. All must say
// what the library says.
func program(t *testing.T, path string, data []byte, flags []string, want said) {
	t.Helper()
	for _, command := range []string{"inspect", "parse"} {
		var first map[string]any
		for _, in := range []string{path, "-"} {
			args := append([]string{command, "--json", "-q", in}, flags...)
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), args, cli.Stdio{In: io.MultiReader(bytes.NewReader(data)), Out: &out, Err: &errs})
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%s %s: %v: %s%s", command, in, err, &out, &errs)
			}
			if got["class"] != want.Class || float64(code) != got["exit"] {
				t.Errorf("%s %s: class %v, exit %v and %d; the library says %+v", command, in, got["class"], got["exit"], code, want)
			}
			if e, ok := got["error"].(map[string]any); ok {
				where(t, command+" "+in, e, want)
			} else if totals, ok := got["totals"].(map[string]any); !ok || !number(totals["bytes"], want.Total) || !number(totals["tensors"], int64(len(want.Tensors))) {
				t.Errorf("%s %s: totals %v; the library says %d tensors of %d bytes", command, in, got["totals"], len(want.Tensors), want.Total)
			}
			delete(got, "path")
			if e, ok := got["error"].(map[string]any); ok {
				delete(e, "message") // says how much was left, and names the file
			}
			if first == nil {
				first = got
			} else if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("%s says another thing of standard input: %s", command, diff)
			}
		}
	}
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
