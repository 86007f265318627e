package limits_test

import (
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestAWorkspaceReturnsAllThatIsNotKept(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	w := b.Workspace()
	s, err := limits.Make[uint32](&w, 10)
	if err != nil || len(s) != 10 {
		t.Fatal(len(s), err)
	}
	if s, err = limits.Grow(&w, s, 1); err != nil || cap(s) != 20 || len(s) != 10 {
		t.Fatal(cap(s), len(s), err)
	}
	if got := limitstest.Used(b, limits.WorkingSet); got != 80 {
		t.Errorf("working set %d, want 80: the old array counts no more", got)
	}
	if got := limitstest.Peak(b, limits.WorkingSet); got != 120 {
		t.Errorf("peak %d, want 120: both arrays live while elements move", got)
	}
	if kept := w.Keep(); kept != 80 {
		t.Errorf("%d kept, want 80", kept)
	}
	must(t, w.Hold(5))
	w.Close()
	w.Close()
	if working, total := limitstest.Used(b, limits.WorkingSet), limitstest.Used(b, limits.Total); working != 0 || total != 80 {
		t.Errorf("working set %d, total %d; want 0 and what was kept, 80", working, total)
	}
	b.Drop(80)
}

func TestAWorkspaceAsksEveryCeiling(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy limits.Policy
		axis   limits.Axis
	}{
		{"the working set", limits.Policy{MaxWorkingSet: 99}, limits.WorkingSet},
		{"the total", limits.Policy{MaxTotalBytes: 99}, limits.Total},
		{"one buffer", limits.Policy{MaxSingleAlloc: 99}, limits.SingleAlloc},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := limitstest.Open(t, c.policy)
			w := b.Workspace()
			_, err := limits.Make[byte](&w, 100)
			refused, ok := errors.AsType[*limits.Error](err)
			if !ok || refused.Axis != c.axis || limitstest.Used(b, limits.WorkingSet) != 0 {
				t.Errorf("got %v, held %d", err, limitstest.Used(b, limits.WorkingSet))
			}
			s, err := limits.Make[byte](&w, 50)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := limits.Grow(&w, s, 50); !errors.Is(err, limits.ErrLimit) || limitstest.Used(b, limits.WorkingSet) != 50 {
				t.Errorf("growth: got %v, held %d", err, limitstest.Used(b, limits.WorkingSet))
			}
			if _, err := limits.Make[uint64](&w, -1); !errors.Is(err, limits.ErrLimit) {
				t.Errorf("a negative size: %v", err)
			}
			w.Close()
			limitstest.NoLeak(t, b)
		})
	}
}

// What a request's pickle took at once shows in its host's account, as any
// other buffer does.
func TestTheLargestBufferOfAWorkspaceIsItsHostsToo(t *testing.T) {
	host := limitstest.Open(t, limits.Policy{})
	b := host.Child(limits.Policy{})
	defer b.Close()
	w := b.Workspace()
	defer w.Close()
	if _, err := limits.Make[byte](&w, 77); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*limits.Budget{b, host} {
		if got := limitstest.Peak(a, limits.SingleAlloc); got != 77 {
			t.Errorf("largest buffer %d, want 77", got)
		}
	}
}
