package limits_test

import (
	"errors"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// What is packed in a file costs the account of the file, however deep and in
// however many parts.
func TestPartsSpendTheStepsOfTheWhole(t *testing.T) {
	b := limits.Policy{MaxSteps: 100}.Budget(t.Context())
	defer b.Close()
	w := b.Whole(10)
	defer w.Close()
	for i := range 3 {
		part := w.Child(*w.Policy())
		inner := part.Probe()
		err := inner.Step(40)
		if (err == nil) != (i < 2) {
			t.Errorf("part %d: %v", i, err)
		}
		inner.Close()
		part.Close()
	}
	if err := w.Step(21); !errors.Is(err, limits.ErrLimit) {
		t.Errorf("21 of 20 steps: %v", err)
	}
}

func TestPartsInflateAgainstTheSizeOfTheWhole(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	w := b.Whole(1000)
	defer w.Close()
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ { // each alone is within the grace
		part := w.Child(*w.Policy())
		if n%2 == 0 {
			err = part.Inflate(1<<20, 1<<20)
		} else {
			i := part.Inflation()
			err = i.Add(1<<20, 1<<20)
		}
		part.Close()
	}
	if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.InflateRatio || n != 65 {
		t.Errorf("after %d parts: %v", n, err)
	}
}

func TestAStreamIsHeldToTheRatioWhileItIsRead(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	i := b.Inflation()
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = i.Add(1<<10, 1<<20)
	}
	if !errors.Is(err, limits.ErrLimit) || n != 65 {
		t.Errorf("after %d MiB: %v", n, err)
	}
}

// A stream that inflates too much passes while all are below the grace. A member beyond it, whose own
// ratio is allowed, is refused for the ratio of all; and one that makes the ratio of all exactly what is
// allowed is not.
func TestAMemberAfterAStreamIsHeldToTheRatioOfAll(t *testing.T) {
	const grace, allowed = int64(limits.RatioGrace), int64(200)
	for _, c := range []struct {
		in, out int64
		want    error
	}{
		{grace / 2 / allowed, grace / 2, nil}, // at the grace
		{(grace/2 + allowed) / allowed, grace/2 + 1, limits.ErrLimit},
		{grace/allowed - 1, grace/2 + allowed, limits.ErrLimit},
		{(grace + allowed) / allowed * 2, grace + 200, nil},
	} {
		b := limits.Policy{MaxInflateRatio: allowed}.Budget(t.Context())
		i := b.Inflation()
		must(t, i.Add(1, grace/2))
		if err := b.Inflate(c.in, c.out); !errors.Is(err, c.want) {
			t.Errorf("%d bytes that inflate to %d: %v", c.in, c.out, err)
		}
		b.Close()
	}
}

func TestPartsEndWithTheWhole(t *testing.T) {
	b := limits.Policy{Timeout: time.Millisecond}.Budget(t.Context())
	defer b.Close()
	w := b.Whole(1)
	defer w.Close()
	<-w.Context().Done()
	p := limits.Policy{}
	part := w.Child(p)
	defer part.Close()
	if e, ok := errors.AsType[*limits.Error](part.Err()); !ok || e.Axis != limits.Time {
		t.Errorf("%v", part.Err())
	}
	if err := part.Hold(1); !errors.Is(err, limits.ErrLimit) {
		t.Error(err)
	}
}
