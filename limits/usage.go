package limits

import (
	"slices"
	"time"
)

// An AxisUsage is one line of [Budget.Usage]: the current amount, the maximum so far (of
// this account or a probe of it), and the ceiling. On the ratio axes the numbers are
// ratios, on the Time axis nanoseconds (and Limit is -1 for none).
type AxisUsage struct {
	Axis              Axis
	Used, Peak, Limit int64
}

// Usage reports every axis of this account. One that does not exist has used nothing, and
// has no room.
func (b *Budget) Usage() []AxisUsage {
	out := make([]AxisUsage, 0, axisCount)
	for _, a := range Axes() {
		if !b.exists() {
			out = append(out, AxisUsage{Axis: a})
			continue
		}
		used, peak := b.use(a)
		out = append(out, AxisUsage{a, used, peak, b.limit(a)})
	}
	return out
}

// limit returns the effective ceiling: the policy's, or a lower one of the system.
func (b *Budget) limit(a Axis) int64 {
	if a == OpenFiles {
		return b.pools[pooledFiles].max
	}
	return b.op.policy.Limit(a)
}

func (b *Budget) use(a Axis) (used, peak int64) {
	if p := slices.Index(poolAxis[:], a); p >= 0 {
		return b.pools[p].used(), b.pools[p].peak()
	}
	switch a {
	case SingleAlloc:
		return 0, b.largest.Load()
	case StepCount:
		return b.op.steps.used(), b.op.steps.peak()
	case Time:
		d := int64(time.Since(b.op.started))
		return d, d
	}
	r := &b.op.ratios
	r.Lock()
	defer r.Unlock()
	if a == InflateRatio {
		return ratio(r.inOut, r.inIn), ratio(r.worstOut, r.worstIn)
	}
	n := ratio(r.expanded, max(r.source, r.inOut))
	return n, n
}
