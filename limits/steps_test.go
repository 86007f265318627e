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
