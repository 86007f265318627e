package limits

import (
	"math"
	"sync/atomic"
)

// A gauge is a bounded sum. It never exceeds its maximum, not even during a charge that
// fails, so that the refusal of one caller cannot cause that of another. It counts down:
// a single load tells what is left, and a closed gauge has nothing left.
type gauge struct {
	free atomic.Int64 // what is left, or shut
	low  atomic.Int64 // the minimum of free before something was given back
	max  int64
}

const shut = math.MinInt64

func (g *gauge) open(limit int64) {
	g.max = limit
	g.free.Store(limit)
	g.low.Store(limit)
}

// fits reports whether take would charge n.
func (g *gauge) fits(n int64) bool { return n >= 0 && n <= g.free.Load() }

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

// give returns n, unless that is negative or more than was taken, or the gauge is closed
// and close has returned it already. Only give can hide a peak, so it records the minimum
// and take stays cheap.
func (g *gauge) give(n int64) bool {
	for {
		free := g.free.Load()
		if free == shut || n < 0 || n > g.max-free {
			return false
		}
		if g.free.CompareAndSwap(free, free+n) {
			storeMin(&g.low, free)
			return true
		}
	}
}

// close closes the gauge and returns what it held.
func (g *gauge) close() (held int64) {
	free := g.free.Swap(shut)
	storeMin(&g.low, free)
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

// note makes n the peak if it is larger: for a probe, which has its own gauge.
func (g *gauge) note(n int64) {
	if n <= g.max {
		storeMin(&g.low, g.max-n)
	}
}

// storeMin makes v at most n.
func storeMin(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if n >= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}

// storeMax makes v at least n.
func storeMax(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}
