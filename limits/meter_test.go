package limits_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The meter gets every step of an operation and of its parts before it is used.
func TestAMeterSeesEveryStep(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	b := limits.Policy{MaxSteps: 10_000}.Budget(ctx)
	defer b.Close()
	var told int64
	b.Meter(func(n int64) { told += n })
	if err := b.Step(100); err != nil || told != 100 {
		t.Errorf("%d, %v", told, err)
	}
	c := b.Child(limits.Policy{})
	defer c.Close()
	steps := c.Steps()
	for range limits.StepBatch + 1 {
		if err := steps.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if told < 100+limits.StepBatch+1 || told > 100+2*limits.StepBatch {
		t.Errorf("with those of a child: %d", told)
	}
	told = 0
	if err := b.Step(10_000); err == nil || told != 0 {
		t.Errorf("steps that are refused: %d, %v", told, err)
	}
	// The operation may have ended while the meter waited.
	b.Meter(func(int64) { stop() })
	steps = b.Steps()
	if err := steps.Step(); !errors.Is(err, context.Canceled) {
		t.Errorf("after the wait: %v", err)
	}
}
