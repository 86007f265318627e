package limits_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestCancellationWithinOneBatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := limits.Policy{}.Budget(ctx)
	defer b.Close()
	steps := b.Steps()
	for range 5000 {
		must(t, steps.Step())
	}
	cancel()
	late := 0
	for steps.Step() == nil {
		late++
	}
	if late > limits.StepBatch {
		t.Errorf("noticed after %d steps", late)
	}
	if err := steps.Step(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStepsAreExact(t *testing.T) {
	for _, ceiling := range []int64{1, 1023, 1024, 1025, 5000} {
		b := limitstest.Open(t, limits.Policy{MaxSteps: ceiling})
		steps := b.Steps()
		for i := range ceiling {
			if err := steps.Step(); err != nil {
				t.Fatalf("ceiling %d: step %d: %v", ceiling, i, err)
			}
		}
		refused(t, steps.Step(), limits.Error{Axis: limits.StepCount, Want: 1, Left: 0})
		refused(t, steps.Step(), limits.Error{Axis: limits.StepCount, Want: 1, Left: 0})
	}
}

func TestStepsAtOnceAndOneByOneShareTheCeiling(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSteps: 2000})
	steps := b.Steps()
	for range 16 + 64 + 256 + 1 { // the batches before the first whole one
		must(t, steps.Step())
	}
	refused(t, b.Step(1000), limits.Error{Axis: limits.StepCount, Want: 1000, Left: 640})
	must(t, b.Step(640))
	for range limits.StepBatch - 1 {
		must(t, steps.Step())
	}
	refused(t, steps.Step(), limits.Error{Axis: limits.StepCount, Want: 1, Left: 0})
}

func TestStepsTakenAtOnceAreExact(t *testing.T) {
	for _, ceiling := range []int64{7, 1024, 1030, 5000} {
		b := limitstest.Open(t, limits.Policy{MaxSteps: ceiling})
		steps := b.Steps()
		paid := int64(0)
		for n := int64(0); paid+n <= ceiling; n = (n + 1) % 11 {
			if err := steps.Take(n); err != nil {
				t.Fatalf("ceiling %d: %d steps after %d: %v", ceiling, n, paid, err)
			}
			paid += n
		}
		left := ceiling - paid
		for range left {
			must(t, steps.Step())
		}
		if got := b.Worked(); got != ceiling {
			t.Errorf("ceiling %d: %d steps are charged", ceiling, got)
		}
		refused(t, steps.Take(2), limits.Error{Axis: limits.StepCount, Want: 2, Left: 0})
		must(t, steps.Take(0))
	}
}

func TestMoreStepsThanABatchAreTaken(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{MaxSteps: 1_000_000})
	steps := b.Steps()
	must(t, steps.Take(10*limits.StepBatch))
	if got := b.Worked(); got != 10*limits.StepBatch {
		t.Errorf("%d steps are charged", got)
	}
	var none *limits.Steps
	for _, err := range []error{steps.Take(-1), none.Take(1), none.Take(0)} {
		if err == nil {
			t.Error("steps are granted that do not exist")
		}
	}
}
