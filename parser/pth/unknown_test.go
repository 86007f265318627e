package pth_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// storage is a tensor w of two numbers in a legacy file, as its pickle makes it.
const storage = `op GLOBAL "torch._utils" "_rebuild_tensor_v2"; op MARK
	op MARK; op BINUNICODE "storage"; op GLOBAL "torch" "FloatStorage"; op BINUNICODE "0"; op BINUNICODE "cpu"; op BININT 2; op NONE; op TUPLE; op BINPERSID
	op BININT 0; op MARK; op BININT 2; op TUPLE; op MARK; op BININT 1; op TUPLE
	op NEWFALSE; op GLOBAL "collections" "OrderedDict"; op EMPTY_TUPLE; op REDUCE
op TUPLE; op REDUCE
`

// module is the state of one that has a parameter w, a buffer b, another that it does not
// save, and one more attribute.
const module = `op EMPTY_DICT; op MARK
op BINUNICODE "_parameters"; op EMPTY_DICT; op BINUNICODE "w"; ` + storage + `op SETITEM
op BINUNICODE "_buffers"; op EMPTY_DICT; op MARK; op BINUNICODE "b"; ` + storage + `op BINUNICODE "hidden"; ` + storage + `op SETITEMS
op BINUNICODE "_modules"; op EMPTY_DICT
op BINUNICODE "_non_persistent_buffers_set"; op GLOBAL "builtins" "set"; op EMPTY_LIST; op BINUNICODE "hidden"; op APPEND; op TUPLE1; op REDUCE
op BINUNICODE "kept"; ` + storage + `op SETITEMS; `

// legacyOf is a checkpoint of one pickle with that tensor in it.
func legacyOf(t *testing.T, pickle string) []byte {
	t.Helper()
	r, err := corpus.Parse("pth", "test", `# A file of a test.
expect: ok
--
op PROTO 2; op LONG1 0x1950a86a20f9469cfc6c; op STOP
op PROTO 2; op BININT2 1001; op STOP
op PROTO 2; op EMPTY_DICT; op MARK; op BINUNICODE "protocol_version"; op BININT2 1001; op BINUNICODE "little_endian"; op NEWTRUE; op BINUNICODE "type_sizes"; op EMPTY_DICT; op SETITEMS; op STOP
op PROTO 2
`+pickle+`
op STOP
op PROTO 2; op EMPTY_LIST; op BINUNICODE "0"; op APPEND; op STOP
u64 2; f32 1 2
`, []string{"ok"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Bytes()
}

// Unknown objects are skipped and named. Tensors in them are named by their path.
func TestTensorsInUnknownObjectsAreFound(t *testing.T) {
	object := `op GLOBAL "a" "B"; op EMPTY_TUPLE; op NEWOBJ; op BINPUT 0; `
	for _, c := range []struct {
		name, pickle string
		want         []string
		found        string // in a finding
		class        wire.Class
	}{
		{"an attribute", object + `op EMPTY_DICT; op BINUNICODE "x"; ` + storage + `op SETITEM; op BUILD`, []string{"x"}, `"a.B" is not understood`, wire.OK},
		{"an argument", `op GLOBAL "a" "f"; ` + storage + `op TUPLE1; op REDUCE`, []string{"0"}, `"a.f"`, wire.OK},
		{"a state that is not a dict", object + storage + `op BUILD`, []string{"state"}, `"a.B"`, wire.OK},
		{"slots", object + `op NONE; op EMPTY_DICT; op BINUNICODE "x"; ` + storage + `op SETITEM; op TUPLE2; op BUILD`, []string{"x"}, `"a.B"`, wire.OK},
		{"an object within itself", object + `op EMPTY_DICT; op MARK; op BINUNICODE "x"; ` + storage + `op BINUNICODE "up"; op BINGET 0; op SETITEMS; op BUILD`, []string{"x"}, `"a.B"`, wire.OK},
		{"a list within itself through an object", `op EMPTY_LIST; op BINPUT 1; ` + object + `op EMPTY_DICT; op MARK; op BINUNICODE "x"; ` + storage + `op BINUNICODE "up"; op EMPTY_LIST; op BINPUT 2; op BINGET 0; op APPEND; op SETITEMS; op BUILD; op APPEND`, []string{"0.x"}, `"a.B"`, wire.OK},
		{"what a call gave, called", `op GLOBAL "a" "f"; op EMPTY_TUPLE; op REDUCE; ` + storage + `op TUPLE1; op REDUCE`, []string{"0"}, `"a.f"`, wire.OK},
		{"items of an object", `op GLOBAL "a" "Dict"; op EMPTY_TUPLE; op REDUCE; op BINUNICODE "x"; ` + storage + `op SETITEM`, nil, "storages referred to outside of any tensor: 1", wire.OK},
		{"a module", object + module + `op BUILD`, []string{"w", "b"}, "2 tensors are attributes of modules and not in their state dict", wire.OK},
		{"a class with its source", `op MARK; op BINUNICODE "module"; op GLOBAL "a" "B"; op BINUNICODE "b.py"; op BINUNICODE "text"; op TUPLE; op BINPERSID; op EMPTY_TUPLE; op NEWOBJ; op EMPTY_DICT; op BINUNICODE "x"; ` + storage + `op SETITEM; op BUILD`, []string{"x"}, `"a.B"`, wire.OK},
		{"a list within itself", `op EMPTY_LIST; op BINPUT 0; op BINGET 0; op APPEND; op POP; ` + storage, []string{"tensor"}, "", wire.OK},
		{"a list within itself that is kept", `op EMPTY_LIST; op BINPUT 0; op BINGET 0; op APPEND`, nil, "", wire.Malformed},
		{"a known call with other arguments", `op GLOBAL "torch" "Size"; op BINUNICODE "x"; op TUPLE1; op REDUCE`, nil, "", wire.Forbidden},
		{"a persistent id of nothing known", `op BINUNICODE "x"; op BINPERSID`, nil, "", wire.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := legacyOf(t, c.pickle)
			f, err := pth.Decode(limitstest.Open(t, limits.Policy{Quirks: []string{pth.QuirkTensorsOnly}}), bytes.NewReader(data), int64(len(data)))
			if got := wire.ClassOf(err); got != c.class {
				t.Fatalf("%v, want %v: %v", got, c.class, err)
			}
			if err != nil {
				return
			}
			var names, texts []string
			for i := range f.Tensors() {
				names = append(names, i.Name)
			}
			for _, n := range f.Findings() {
				texts = append(texts, n.Text)
			}
			for range f.Meta() { // ends
			}
			if diff := cmp.Diff(c.want, names); diff != "" || !strings.Contains(strings.Join(texts, "\n"), c.found) {
				t.Errorf("%s\n%s", diff, texts)
			}
			if r := pth.Scan(limitstest.Open(t, limits.Policy{Quirks: []string{pth.QuirkTensorsOnly}}), bytes.NewReader(data), int64(len(data))); c.found != "" && wire.ClassOf(r.Err) != wire.Forbidden {
				t.Errorf("a scan says %v", r.Err)
			}
		})
	}
}

// Cyclic objects are walked until the account ends the walk.
func TestObjectsWithinEachOtherEnd(t *testing.T) {
	var text strings.Builder
	const n = 40
	text.WriteString("op MARK\n")
	for i := range n {
		fmt.Fprintf(&text, "op GLOBAL \"a\" \"B\"; op EMPTY_TUPLE; op NEWOBJ; op BINPUT %d\n", i)
	}
	text.WriteString("op LIST\n")
	for i := range n {
		fmt.Fprintf(&text, "op BINGET %d; op EMPTY_DICT; op MARK\n", i)
		for k := range n {
			fmt.Fprintf(&text, "op BINUNICODE \"k%d\"; op BINGET %d\n", k, k)
		}
		text.WriteString("op SETITEMS; op BUILD; op POP\n")
	}
	data := legacyOf(t, text.String())
	b := limitstest.Open(t, limits.Policy{Quirks: []string{pth.QuirkTensorsOnly}, MaxSteps: 10_000_000})
	if _, err := pth.Decode(b, bytes.NewReader(data), int64(len(data))); wire.ClassOf(err) != wire.Limit {
		t.Error(err)
	}
}
