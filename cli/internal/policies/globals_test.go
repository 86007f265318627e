package policies

import (
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Commands that read all bytes have no deadline, unless a flag or a policy sets one.
func TestTheDeadlineOfLongWork(t *testing.T) {
	minute := limits.Policy{Timeout: time.Minute}
	for name, c := range map[string]struct {
		p    InForce
		want time.Duration
	}{
		"none asked for": {InForce{Flags: &Globals{}, Limits: minute}, limits.NoTimeout},
		"a flag":         {InForce{Flags: &Globals{Ceilings: AxisFlags{Time: "1m"}}, Limits: minute}, time.Minute},
		"a policy":       {InForce{Flags: &Globals{}, Limits: minute, Verify: true}, time.Minute},
		"one without":    {InForce{Flags: &Globals{}, Verify: true}, limits.NoTimeout},
	} {
		if got := c.p.Long().Timeout; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
