package vm_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A moment without a unit is taken only if it is no time at all, as NumPy 2.4.6 writes it: the
// smallest number of 64 bits, in the order of its type.
func TestMomentsWithoutAUnitAreNoTimes(t *testing.T) {
	zeros := strings.Repeat("\x00", 7)
	scalar := func(order, data string) string {
		unit := "}C\x07genericK\x01K\x01K\x01t"
		return "\x80\x04cnumpy._core.multiarray\nscalar\n(cnumpy\ndtype\n\x8c\x02M8\x89\x88\x87R(K\x04\x8c\x01" + order + "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00(" + strings.Replace(unit, "}", "}(", 1) + "ttbC\x08" + data + "tR."
	}
	for _, c := range []struct {
		order, data string
		safe        bool
	}{
		{"<", zeros + "\x80", true}, {">", "\x80" + zeros, true}, {"<", "\x80" + zeros, false}, {">", zeros + "\x80", false}, {">", "\x80" + zeros[1:] + "\x01", false},
	} {
		r := scan(t, []byte(scalar(c.order, c.data)))
		class := wire.OK
		if !c.safe {
			class = wire.Malformed
		}
		if wire.ClassOf(r.Err) != class || r.Safe.OK != c.safe {
			t.Errorf("%q in %q: %v, %+v", c.data, c.order, r.Err, r.Safe)
		}
	}
}
