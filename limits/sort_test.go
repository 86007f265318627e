package limits_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestASortStopsComparingWhenItsTimeEnds(t *testing.T) {
	for name, sort := range map[string]func(*limits.Budget, []int, func(x, y int) int) error{"stable": limits.Sort[int], "unstable": limits.SortUnstable[int]} {
		ctx, cancel := context.WithCancel(t.Context())
		b := limits.Policy{}.Budget(ctx)
		list := rand.Perm(100_000)
		if err := sort(b, list, cmp.Compare[int]); err != nil || !slices.IsSorted(list) {
			t.Errorf("%s: sorted: %t, %v", name, slices.IsSorted(list), err)
		}
		list = rand.Perm(100_000)
		compared := 0
		err := sort(b, list, func(x, y int) int {
			if compared++; compared == 1000 {
				cancel()
			}
			return cmp.Compare(x, y)
		})
		if !errors.Is(err, context.Canceled) || compared > 1000+8*limits.StepBatch {
			t.Errorf("%s: %d comparisons: %v", name, compared, err)
		}
		b.Close()
	}
}

func TestASortCostsStepsAndIsStable(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	list := make([][2]int, 1000)
	for i := range list {
		list[i] = [2]int{rand.IntN(10), i}
	}
	must(t, limits.Sort(b, list, func(x, y [2]int) int { return cmp.Compare(x[0], y[0]) }))
	if !slices.IsSortedFunc(list, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		t.Error("equal elements have another order")
	}
	if n := b.Worked(); n < 1000 {
		t.Errorf("1,000 elements cost %d steps", n)
	}
	small := limitstest.Open(t, limits.Policy{MaxSteps: 10})
	if err := limits.Sort(small, list, func(x, y [2]int) int { return cmp.Compare(x[1], y[1]) }); !errors.Is(err, limits.ErrLimit) {
		t.Errorf("a sort of more than 10 steps: %v", err)
	}
}
