package convert_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// A selection of names is refused if it is ambiguous, leaves nothing, does nothing, or gives two
// tensors one name; the same selection of a model that it fits is not.
func TestSelectionsOfNamesThatDoNotFit(t *testing.T) {
	starts := func(with string) func(string) bool {
		return func(name string) bool { return strings.HasPrefix(name, with) }
	}
	rename := func(list ...string) (all []convert.Renaming) {
		for _, text := range list {
			r, err := convert.ParseRenaming(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	for _, c := range []struct {
		what   string
		n      convert.Names
		tensor []string
		class  wire.Class
		left   int // of the tensors
	}{
		{"a part by its name", convert.Names{Select: "net"}, []string{"net.a", "ema.a"}, wire.OK, 1},
		{"a part by a name of trainers", convert.Names{Select: "state_dict"}, []string{"model.a", "opt.a"}, wire.OK, 1},
		{"a part with two such names", convert.Names{Select: "state_dict"}, []string{"model.a", "net.a"}, wire.Usage, 0},
		{"a part that is not there", convert.Names{Select: "ema"}, []string{"model.a"}, wire.Usage, 0},
		{"all names are kept", convert.Names{Keep: starts("")}, []string{"a", "b"}, wire.OK, 2},
		{"no name is kept", convert.Names{Keep: starts("x")}, []string{"a", "b"}, wire.Usage, 0},
		{"a name is dropped", convert.Names{Drop: starts("b")}, []string{"a", "b"}, wire.OK, 1},
		{"no name is dropped", convert.Names{Drop: starts("x")}, []string{"a", "b"}, wire.Usage, 0},
		{"a prefix is removed", convert.Names{Strip: "m."}, []string{"m.a", "b"}, wire.OK, 2},
		{"a prefix that no name has", convert.Names{Strip: "x."}, []string{"m.a", "b"}, wire.Usage, 0},
		{"a prefix that is the whole name", convert.Names{Strip: "m."}, []string{"m.", "b"}, wire.Usage, 0},
		{"a name is changed", convert.Names{Rename: rename("a*=b*")}, []string{"a1", "c"}, wire.OK, 2},
		{"a pattern that no name has", convert.Names{Rename: rename("x*=y*")}, []string{"a1", "c"}, wire.Usage, 0},
		{"a pattern behind one that takes its names", convert.Names{Rename: rename("a*=b*", "a1=d")}, []string{"a1", "c"}, wire.Usage, 0},
		{"two names become one", convert.Names{Rename: rename("a=c")}, []string{"a", "c"}, wire.Malformed, 0},
		{"two names lose what differs", convert.Names{Rename: rename("a*=c")}, []string{"a1", "a2"}, wire.Malformed, 0},
	} {
		b := limits.Policy{}.Budget(t.Context())
		var list []fixtures.Tensor
		for i, name := range c.tensor {
			list = append(list, fixtures.Whole(name, "F32", i, 2))
		}
		data := fixtures.Safetensors(list...)
		m, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(c.what, err)
		}
		r, err := c.n.Model(b, m)
		if wire.ClassOf(err) != c.class || err == nil && r.Len() != c.left {
			t.Errorf("%s: %v, want %v", c.what, err, c.class)
		}
		b.Close()
	}
}

// FROM=TO has both sides, and no more stars after the = than before.
func TestRenamingsThatAreNone(t *testing.T) {
	for text, ok := range map[string]bool{
		"a=b": true, "a*=b*": true, "a*c*=*b*": true, "a*=b": true, "": false, "a": false, "=b": false, "a=": false, "a=*": false, "a*=b**": false,
	} {
		if _, err := convert.ParseRenaming(text); (err == nil) != ok || err != nil && wire.ClassOf(err) != wire.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}
