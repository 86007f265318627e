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

func TestTextsAreComparedWithTheFileThatHoldsThem(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	must(t, b.Text(1<<40)) // not packed
	whole := b.Whole(1000)
	defer whole.Close()
	part := whole.Child(limits.Policy{})
	defer part.Close()
	must(t, part.Text(limits.TextGrace))
	refused(t, part.Text(1), limits.Error{Axis: limits.InflateRatio, Want: 1049, Left: 200})
	large := b.Whole(1 << 20)
	defer large.Close()
	must(t, large.Text(200<<20))
	refused(t, large.Text(1), limits.Error{Axis: limits.InflateRatio, Want: 201, Left: 200})
}
