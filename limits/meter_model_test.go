package limits_test

import (
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A meter charges its account when it has too few steps left, and at no other time: a batch, four times
// the last one. The model does the same with whole numbers.
func TestAMeterChargesWhenItIsEmpty(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		b := limitstest.Open(t, limits.Policy{})
		s := b.Steps()
		var left, batch, used int64
		for range 300 {
			n := []int64{1, 1, 1, 2, 3, 15, 16, 17, 700, 5000}[r.IntN(10)]
			take := s.Step
			if n > 1 || r.IntN(2) == 0 {
				take = func() error { return s.Take(n) }
			}
			if err := take(); err != nil {
				t.Fatal(err)
			}
			if left -= n; left < 0 {
				batch = min(max(4*batch, 16), limits.StepBatch)
				paid := max(-left, batch)
				used, left = used+paid, left+paid
			}
			if got := limitstest.Used(b, limits.StepCount); got != used {
				t.Fatalf("%d steps are charged after one of %d, not %d", got, n, used)
			}
		}
	}
}
