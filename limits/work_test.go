package limits_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

func TestAHostKnowsTheStepsAndInflatedBytesOfAllThatWasBelowIt(t *testing.T) {
	host := limitstest.Open(t, limits.Policy{})
	for range 3 {
		request := host.Child(limits.Policy{})
		whole := request.Whole(1000)
		part := whole.Probe()
		must(t, part.Step(5))
		stream := part.Inflation()
		must(t, stream.Add(10, 100))
		must(t, part.Inflate(1, 7))
		part.Close()
		must(t, request.Step(1))
		whole.Close()
		request.Close()
	}
	if n := host.Worked(); n != 3*6 {
		t.Errorf("%d steps", n)
	}
	if n := host.Inflated(); n != 3*107 {
		t.Errorf("%d bytes inflated", n)
	}
}

func TestAShortLoopPrepaysLittle(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	for range 100 {
		steps := b.Steps()
		must(t, steps.Step())
	}
	if n := b.Worked(); n > 100*16 {
		t.Errorf("100 loops of one step paid %d", n)
	}
}
