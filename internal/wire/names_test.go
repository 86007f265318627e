package wire_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestNameSetAgreesWithAMap(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	var names []string
	set, err := wire.NewNameSet(b, 0, func(i int) string { return names[i] })
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]int{}
	for i := range 20_000 {
		name := fmt.Sprint("name", i%7_001*i%9_973)
		names = append(names, name)
		earlier, added, err := set.Add(i)
		if err != nil {
			t.Fatal(err)
		}
		want, there := first[name]
		if added == there || there && earlier != want || !there && earlier != i {
			t.Fatalf("name %d: earlier %d, added %t; want %d, %t", i, earlier, added, want, !there)
		}
		if !there {
			first[name] = i
		}
	}
	for name, want := range first {
		if i, ok := set.Find(name); !ok || i != want {
			t.Fatalf("%s found at %d, %t", name, i, ok)
		}
	}
	if _, ok := set.Find("nobody"); ok {
		t.Error("found what was never added")
	}
}

func TestNameSetIsCharged(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	set, err := wire.NewNameSet(b, 100_000, func(i int) string { return fmt.Sprint(i) })
	if err != nil {
		t.Fatal(err)
	}
	before := limitstest.Used(b, limits.Total)
	if before > 12*100_000 {
		t.Errorf("%d bytes for 100,000 names", before)
	}
	for i := range 100_000 {
		if _, _, err := set.Add(i); err != nil {
			t.Fatal(err)
		}
	}
	if after := limitstest.Used(b, limits.Total); after != before {
		t.Errorf("grew to %d bytes although the count was known", after)
	}
}

func TestNameSetRefuses(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxTotalBytes: 200})
	set, err := wire.NewNameSet(b, 1, func(i int) string { return fmt.Sprint(i) })
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for err == nil {
		_, _, err = set.Add(i)
		i++
	}
	if !errors.Is(err, limits.ErrLimit) || i != 17 {
		t.Errorf("after %d names: %v", i, err)
	}
}

// A count that a file states must not decide how much is asked for at once.
func TestNameSetDoesNotTrustItsHint(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	if _, err := wire.NewNameSet(b, math.MaxInt, func(int) string { return "" }); err != nil {
		t.Fatal(err)
	}
	if used := limitstest.Used(b, limits.Total); used > 16<<20 {
		t.Errorf("%d bytes for no name", used)
	}
}
