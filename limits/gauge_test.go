package limits

import (
	"math/rand/v2"
	"testing"
)

// A gauge gives what a counter with a bound gives.
func TestAGaugeAgreesWithACounter(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 2))
	for range 2000 {
		bound := int64(random.IntN(5))
		var g gauge
		g.open(bound)
		used, peak := int64(0), int64(0)
		for range 12 {
			n := int64(random.IntN(8)) - 2
			if random.IntN(2) == 0 {
				want := n >= 0 && used+n <= bound
				if got := g.take(n); got != want {
					t.Fatalf("take %d of %d with %d used: %v", n, bound, used, got)
				}
				if want {
					used += n
					peak = max(peak, used)
				}
			} else {
				want := n >= 0 && n <= used
				if got := g.give(n); got != want {
					t.Fatalf("give %d of %d with %d used: %v", n, bound, used, got)
				}
				if want {
					used -= n
				}
			}
			if g.used() != used || g.peak() != peak || g.left() != bound-used {
				t.Fatalf("used %d, peak %d, left %d; by a counter %d, %d, %d", g.used(), g.peak(), g.left(), used, peak, bound-used)
			}
		}
		if held := g.close(); held != used || g.give(used) {
			t.Fatalf("closed with %d, not %d", held, used)
		}
	}
}
