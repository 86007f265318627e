package vm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A prefix makes a value and keeps it at 0; each use takes it; each change would
// make it another one.
var (
	mutable = map[string]struct{ make, change string }{
		"list":        {"]q\x00", "Na"},
		"list at end": {"]q\x00", "(Ne"},
		"dict":        {"}q\x00", "X\x01\x00\x00\x00aNs"},
		"items":       {"}q\x00", "(X\x01\x00\x00\x00aNu"},
		"ordered":     {"ccollections\nOrderedDict\n)Rq\x00", "NNs"},
		"attributes":  {"ccollections\nOrderedDict\n)Rq\x00", "}b"},
		"set":         {"\x8fq\x00", "(N\x90"},
		"deque":       {"ccollections\ndeque\n)Rq\x00", "Na"},
		"tensor":      {"ctorch\nFloatTensor\n)Rq\x00", "(" + storage0 + "K\x00))tb"},
	}
	storage0 = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
	taken    = map[string]string{
		"state of attributes": "ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00ah\x00sb",
		"state in a list":     "ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00a]h\x00asb",
		"argument": "ctorch._utils\n_rebuild_parameter_with_state\n(ctorch._utils\n_rebuild_tensor\n(" + storage0 +
			"K\x00))tR\x89N}X\x01\x00\x00\x00ah\x00stR",
	}
)

func TestNothingChangesAfterItsUse(t *testing.T) {
	for what, m := range mutable {
		free := "\x80\x04" + m.make + "h\x00" + m.change + "\x86."
		if _, err := load(limitstest.Open(t, limits.Policy{}), []byte(free)); err != nil {
			t.Errorf("%s is changed before anything uses it: %v", what, err)
		}
		for use, code := range taken {
			pickle := "\x80\x04" + m.make + code + "h\x00" + m.change + "\x87."
			if _, err := load(limitstest.Open(t, limits.Policy{}), []byte(pickle)); !errors.Is(err, wire.ErrSyntax) || !strings.Contains(err.Error(), "changes after") {
				t.Errorf("%s is changed after %s: %v", what, use, err)
			}
			same := "\x80\x04" + m.make + "h\x00" + m.change + code + "\x87."
			if _, err := load(limitstest.Open(t, limits.Policy{}), []byte(same)); err != nil {
				t.Errorf("%s is changed before %s: %v", what, use, err)
			}
		}
	}
}

// What Python compares as equal is one key, in dicts that are compared one by one
// and in those that have a table; what it does not is two.
func TestKeysAreComparedAsPythonDoes(t *testing.T) {
	one, two := "K\x01", "K\x02"
	equal := [][]string{
		{one, "\x88", "G?\xf0\x00\x00\x00\x00\x00\x00", "cbuiltins\ncomplex\nK\x01K\x00\x86R", "L1L\n", scalar("i1", "\x01"), scalar("f8", "\x00\x00\x00\x00\x00\x00\xf0?")},
		{one + "\x85", "\x88\x85", "ctorch\nSize\n" + one + "\x85\x85R", "ctorch\nSize\n]" + one + "a\x85R"},
		{two + "\x85\x85", "ctorch\nSize\n" + two + "\x85\x85R\x85"},
		{"L18446744073709551616L\n", "GC\xf0\x00\x00\x00\x00\x00\x00"},
		{"X\x01\x00\x00\x00w", "ctorch.torch_version\nTorchVersion\nX\x01\x00\x00\x00w\x85\x81", scalar("U1", "w\x00\x00\x00")},
		{"C\x01w", scalar("S2", "w\x00")},
		{"ctorch\nfloat32\n"}, {"N"}, {")"}, {"cbuiltins\ncomplex\nK\x01K\x01\x86R"}, {"GC\xf0\x00\x00\x00\x00\x00\x01"}, {scalar("u8", strings.Repeat("\xff", 8))},
		{"cdatetime\ndate\nC\x04\x07\xe8\x01\x01\x85R"}, {"cdatetime\ndate\nC\x04\x07\xe8\x01\x02\x85R"}, {"cpathlib\nPosixPath\nX\x01\x00\x00\x00a\x85R", "cpathlib\nPurePosixPath\nX\x01\x00\x00\x00a\x85R"},
	}
	for i, a := range equal {
		for j, b := range equal {
			for _, x := range a {
				for _, y := range b {
					asKeys(t, x, y, i == j)
				}
			}
		}
	}
}

// asKeys puts two keys in a dict, a set and a large dict.
func asKeys(t *testing.T, x, y string, same bool) {
	t.Helper()
	var many strings.Builder
	for i := range 20 {
		many.WriteString("X\x02\x00\x00\x00k" + string(rune('a'+i)) + "N")
	}
	for form, pickle := range map[string]string{
		"dict":  "}(" + x + "N" + y + "Nu",
		"set":   "\x8f(" + x + y + "\x90",
		"large": "}(" + many.String() + x + "N" + y + "Nu",
	} {
		_, err := load(limitstest.Open(t, limits.Policy{}), []byte("\x80\x04"+pickle+"."))
		if (err != nil) != same || err != nil && !errors.Is(err, wire.ErrDuplicate) {
			t.Errorf("%s of %q and %q: %v", form, x, y, err)
		}
	}
}

// scalar is a scalar of NumPy.
func scalar(code, data string) string {
	return "cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\x00\x00\x00" + code + "\x89\x88\x87RC" + string(rune(len(data))) + data + "\x86R"
}
