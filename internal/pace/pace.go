// Package pace says how slow a connection may be: how long nothing may
// come, how few bytes in a time, and how long everything may take.
//
//	m := pace.Rule{Idle: 30 * time.Second, Rate: 1 << 10, Window: 10 * time.Second}.Meter()
//	conn.SetReadDeadline(m.Deadline(time.Now()))
//	n, err := conn.Read(p)
//	m.Passed(time.Now(), n)
//
// Only the time between Deadline and Passed counts, in which the other side is waited for.
package pace

import (
	"math"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Rule bounds a transfer. What is zero bounds nothing.
type Rule struct {
	Idle   time.Duration // without any byte
	Rate   int64         // bytes a second, averaged over Window
	Window time.Duration
	Total  time.Duration
}

// Meter begins a transfer.
func (r Rule) Meter() *Meter { return &Meter{rule: r} }

// A Meter measures one transfer, in one direction. It belongs to one goroutine.
type Meter struct {
	rule  Rule
	began time.Time     // of the present wait
	inWin time.Duration // waited in this window
	bytes int64         // that passed in this window
	all   time.Duration // waited in all
	why   string
}

// Deadline returns when the next byte must have passed. A wait begins.
func (m *Meter) Deadline(now time.Time) time.Time {
	m.began = now
	left := time.Duration(math.MaxInt64)
	bound := func(on bool, d time.Duration, why string) {
		if on && d < left {
			left, m.why = d, why
		}
	}
	r := m.rule
	bound(r.Idle > 0, r.Idle, "nothing came for "+limits.FormatTimeout(r.Idle))
	bound(r.Rate > 0 && r.Window > 0, r.Window-m.inWin, "less came than "+limits.FormatSize(r.Rate)+" a second")
	bound(r.Total > 0, r.Total-m.all, "not everything came within "+limits.FormatTimeout(r.Total))
	if left == math.MaxInt64 {
		return time.Time{}
	}
	return now.Add(max(left, 0))
}

// Passed ends the wait, in which n bytes passed.
func (m *Meter) Passed(now time.Time, n int) {
	waited := max(now.Sub(m.began), 0)
	m.all += waited
	m.inWin += waited
	if m.bytes += int64(n); float64(m.bytes) >= float64(m.rule.Rate)*m.rule.Window.Seconds() {
		m.inWin, m.bytes = 0, 0
	}
}

// Why says what ends the transfer at the last deadline.
func (m *Meter) Why() string { return m.why }
