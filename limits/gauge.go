package limits

import "sync/atomic"

// A gauge is a bounded sum. It never shows more than its maximum, not even for
// the moment of a charge that fails, so that one caller's refusal is never
// another caller's.
type gauge struct {
	now  atomic.Int64
	high atomic.Int64 // the highest value before a decrease
	max  int64
}

// add charges n, or reports that it does not fit. A negative n never fits.
func (g *gauge) add(n int64) bool {
	for {
		now := g.now.Load()
		if uint64(n) > uint64(g.max-now) {
			return false
		}
		if g.now.CompareAndSwap(now, now+n) {
			return true
		}
	}
}

func (g *gauge) left() int64 { return g.max - g.now.Load() }

// sub gives n back. Only a decrease can hide a peak, so it is noted here and
// the charge stays cheap.
func (g *gauge) sub(n int64) {
	raise(&g.high, g.now.Add(-n)+n)
}

// undo takes back a charge that another account refused: no peak was reached.
func (g *gauge) undo(n int64) { g.now.Add(-n) }

func (g *gauge) peak() int64 { return max(g.high.Load(), g.now.Load()) }

// A peak remembers the largest value seen.
type peak struct {
	high atomic.Int64
	max  int64
}

func (p *peak) raise(n int64) { raise(&p.high, n) }

func raise(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}
