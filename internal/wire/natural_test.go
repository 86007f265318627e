package wire_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func TestNaturalOrder(t *testing.T) {
	want := []string{
		"", "0", "00", "1", "2", "010", "10", "a", "a.", "a.b", "blk.0.x", "blk.2.a", "blk.2.b", "blk.9.a", "blk.010.a", "blk.10.a", "blk.10.b", "blk.100.a", "blk.x.a",
		"h.2.18446744073709551616", "h.2.18446744073709551617", "h.10.1", "z",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		got := slices.Clone(want)
		r.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, wire.Natural)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Whatever the names, the order is one: it does not hang on where a sort begins.
func TestNaturalOrderIsTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	name := func() string {
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = "0019.a/:"[r.IntN(8)]
		}
		return string(b)
	}
	for range 20000 {
		a, b, c := name(), name(), name()
		if wire.Natural(a, b) > 0 != (wire.Natural(b, a) < 0) || (wire.Natural(a, b) == 0) != (a == b) {
			t.Fatalf("%q, %q", a, b)
		}
		if wire.Natural(a, b) < 0 && wire.Natural(b, c) < 0 && wire.Natural(a, c) >= 0 {
			t.Fatalf("%q, %q, %q", a, b, c)
		}
	}
}
