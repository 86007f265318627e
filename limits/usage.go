package limits

import "time"

// An AxisUsage is one line of [Budget.Usage]: the current amount, the maximum so far (of
// this account or a probe of it), and the ceiling. On the ratio axes the numbers are
// ratios, on the Time axis nanoseconds (and Limit is -1 for none).
type AxisUsage struct {
	Axis              Axis
	Used, Peak, Limit int64
}

// Usage reports every axis of this account.
func (b *Budget) Usage() []AxisUsage {
	out := make([]AxisUsage, 0, axisCount)
	for _, a := range Axes() {
		used, peak := b.use(a)
		out = append(out, AxisUsage{a, used, peak, b.limit(a)})
	}
	return out
}

// limit returns the effective ceiling: the policy's, or a lower one of the system.
func (b *Budget) limit(a Axis) int64 {
	if a == OpenFiles {
		return b.shared[pooledFiles].max
	}
	return b.policy.Limit(a)
}

func (b *Budget) use(a Axis) (used, peak int64) {
	switch a {
	case SingleAlloc:
		return 0, b.largest.Load()
	case Total:
		return b.shared[pooledBytes].used(), b.shared[pooledBytes].peak()
	case Items:
		return b.shared[pooledItems].used(), b.shared[pooledItems].peak()
	case OpenFiles:
		return b.shared[pooledFiles].used(), b.shared[pooledFiles].peak()
	case Requests:
		return b.shared[pooledRequests].used(), b.shared[pooledRequests].peak()
	case Fetched:
		return b.shared[pooledFetched].used(), b.shared[pooledFetched].peak()
	case Depth:
		return b.depth.used(), b.depth.peak()
	case StepCount:
		return b.steps.used(), b.steps.peak()
	case WorkingSet:
		return b.working.used(), b.working.peak()
	case Time:
		d := int64(time.Since(b.started))
		return d, d
	}
	r := &b.ratios
	r.Lock()
	defer r.Unlock()
	if a == InflateRatio {
		return ratio(r.inOut, r.inIn), ratio(r.worstOut, r.worstIn)
	}
	n := ratio(r.expanded, max(r.source, r.inOut))
	return n, n
}
