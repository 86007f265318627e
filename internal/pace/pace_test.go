package pace_test

import (
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/pace"
)

// Each case sends pieces of some bytes, one every so often, to a receiver that works for
// some time after each; and says after how long it is cut.
func TestWhoIsCut(t *testing.T) {
	rule := pace.Rule{Idle: 30 * time.Second, Rate: 1 << 10, Window: 10 * time.Second, Total: time.Hour}
	for _, c := range []struct {
		what  string
		bytes int
		every time.Duration
		work  time.Duration
		cut   time.Duration // 0 for never
		why   string
	}{
		{"one byte a second", 1, time.Second, 0, 10 * time.Second, "less came than 1KiB a second"},
		{"half of the rate", 500, time.Second, 0, 10 * time.Second, "less came than 1KiB a second"},
		{"the rate", 1 << 10, time.Second, 0, time.Hour, "not everything came within 1h"},
		{"the rate in large pieces", 10 << 10, 9 * time.Second, 0, time.Hour, "not everything came within 1h"},
		{"fast, into a receiver that works", 1 << 10, time.Millisecond, time.Minute, 0, ""},
		{"nothing", 0, time.Minute, 0, 10 * time.Second, "less came than 1KiB a second"},
	} {
		m, now := rule.Meter(), time.Unix(0, 0)
		waited, cut := time.Duration(0), time.Duration(0)
		for range 5000 {
			end := m.Deadline(now)
			if end.Sub(now) < c.every {
				cut = waited + end.Sub(now)
				break
			}
			waited += c.every
			now = now.Add(c.every)
			m.Passed(now, c.bytes)
			now = now.Add(c.work)
		}
		if cut < c.cut || cut > c.cut+time.Second || cut > 0 && m.Why() != c.why {
			t.Errorf("%s: cut after %v, not %v: %q", c.what, cut, c.cut, m.Why())
		}
	}
	if !(pace.Rule{}).Meter().Deadline(time.Unix(1, 0)).IsZero() {
		t.Error("no rule has a deadline")
	}
	idle := pace.Rule{Idle: time.Second}.Meter()
	if d := idle.Deadline(time.Unix(1, 0)); !d.Equal(time.Unix(2, 0)) || idle.Why() != "nothing came for 1s" {
		t.Errorf("idle: %v, %q", d, idle.Why())
	}
}
