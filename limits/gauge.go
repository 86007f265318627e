package limits

import (
	"math"
	"sync/atomic"
)

// A gauge is a bounded sum. What is charged never passes its maximum, not even
// for the moment of a charge that fails, so that one caller's refusal is never
// another caller's. It counts down: one load tells what is left, and a gauge
// that is shut has room for nothing.
type gauge struct {
	free atomic.Int64 // what is left, or shut
	low  atomic.Int64 // the least that was left before something was given back
	max  int64
}

const shut = math.MinInt64

func (g *gauge) open(limit int64) {
	g.max = limit
	g.free.Store(limit)
	g.low.Store(limit)
}

// take charges n, or reports that it does not fit. A negative n never fits.
func (g *gauge) take(n int64) bool {
	for {
		free := g.free.Load()
		if n < 0 || n > free {
			return false
		}
		if g.free.CompareAndSwap(free, free-n) {
			return true
		}
	}
}

// give returns n, unless the gauge is shut: then close has returned it already.
// Only giving can hide a peak, so it is noted here and taking stays cheap.
func (g *gauge) give(n int64) bool {
	free, ok := g.move(n)
	if ok {
		lower(&g.low, free)
	}
	return ok
}

// move changes what is left by n and returns what was left before, unless the
// gauge is shut.
func (g *gauge) move(n int64) (before int64, ok bool) {
	for {
		free := g.free.Load()
		if free == shut {
			return 0, false
		}
		if g.free.CompareAndSwap(free, free+n) {
			return free, true
		}
	}
}

// close shuts the gauge and returns what it held.
func (g *gauge) close() (held int64) {
	free := g.free.Swap(shut)
	lower(&g.low, free)
	return g.max - free
}

func (g *gauge) left() int64 { return max(g.free.Load(), 0) }

func (g *gauge) used() int64 {
	if free := g.free.Load(); free != shut {
		return g.max - free
	}
	return 0
}

func (g *gauge) peak() int64 {
	least := g.low.Load()
	if free := g.free.Load(); free != shut {
		least = min(least, free)
	}
	return g.max - least
}

// note makes n the peak, if it is more and could have been charged: of a probe,
// which had its own gauge.
func (g *gauge) note(n int64) {
	if n <= g.max {
		lower(&g.low, g.max-n)
	}
}

// lower makes v at most n.
func lower(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if n >= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}

// raise makes v at least n.
func raise(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}
