package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A fit is a kernel of a search while it is written.
type fit struct {
	s, n   Register // the memory of the search, and the bytes of an array's elements
	next   Register // the next trial's number, at atTrials
	trials Register // how many are left
	parts  int      // registers of a value: two, or one where the halves of the lanes are taken in turn
}

// begin begins a kernel.
func begin(name, doc string, how ...string) *fit {
	emit.Frame(name+"AVX2", "func(s *float32, elems int, trials int)", doc, how...)
	f := &fit{Load(Param("s"), GP64()), Load(Param("elems"), GP64()), GP64(), Load(Param("trials"), GP64()), 2}
	SHLQ(Imm(6), f.n)
	MOVQ(f.s, f.next)
	return f
}

// field is a number of each group.
func (f *fit) field(offset int) value {
	return value{mem: Mem{Base: f.s, Disp: offset}, step: 32 * (f.parts - 1)}
}

// element is element i of each group.
func (f *fit) element(i Register, offset int) value {
	return value{mem: Mem{Base: f.s, Index: i, Scale: 1, Disp: offset}, step: 32 * (f.parts - 1)}
}

// trial is the number of the next trial in all lanes.
func (f *fit) trial() value { return broadcast(Mem{Base: f.next, Disp: atTrials}) }

// try is that over d.
func (f *fit) try(d value) value {
	inverse := f.new()
	each(VDIVPS, d, f.trial(), inverse)
	return inverse
}

// ofLargest is that over the numbers of largest magnitude.
func (f *fit) ofLargest() value { return f.try(load(f.field(atLargest))) }

// eachTrial is a loop over the trials but the first, to the kernel's end.
func (f *fit) eachTrial(body func()) {
	emit.Repeat("trial", f.trials, func() {
		ADDQ(Imm(4), f.next)
		body()
	})
	emit.End()
}

// affine finds scale and minimum.
func affine(absolute bool) {
	name, cost := "affine", "d^2"
	if absolute {
		name, cost = "affineAbsolute", "|d|"
	}
	f := begin(name, "searches scale and minimum of sixteen groups: affineSearch.find.",
		"For each group: low, high, the sums of weights w and of w*x; the scale that spans it, and its error.",
		"For each trial: inverse = trial/(high-low); codes l = round((x-low)*inverse); the sums of w*l, w*l*l and w*l*x;",
		"the scale and low that fit them best; the sum of w*"+cost+", d = scale*l+low-x. If that is the least yet, they stay.")
	f.spread()
	inverse, low := f.inverse()
	scale := f.new()
	move(number(1), scale)
	each(VDIVPS, inverse, scale, scale)
	move(scale, f.field(atScale))
	move(low, f.field(atBase))
	move(f.trial(), f.field(atTrial))
	limits := f.limits()
	f.elements("code", 0, func(i Register, half func(value) value) {
		c := load(half(f.element(i, atX)))
		each(VSUBPS, half(low), c, c)
		limits.code(c, half(inverse), c)
		move(c, half(f.element(i, atCodes)))
	})
	move(f.cost(scale, low, absolute), f.field(atCost))
	f.eachTrial(func() { f.affineTrial(limits, absolute) })
}

// spread finds least and largest numbers and the sums of weights: spread.
func (f *fit) spread() {
	low, high, sum, sumX := load(f.field(atX)), load(f.field(atX)), load(f.field(atW)), f.new()
	each(VMULPS, f.field(atX), sum, sumX)
	f.elements("spread", element, func(i Register, half func(value) value) {
		x, w := load(half(f.element(i, atX))), load(half(f.element(i, atW)))
		each(VMINPS, half(low), x, half(low)) // the second where they are equal: what there was
		each(VMAXPS, half(high), x, half(high))
		each(VADDPS, w, half(sum), half(sum))
		each(VMULPS, x, w, w)
		each(VADDPS, w, half(sumX), half(sumX))
	})
	move(low, f.field(atLeast))
	move(high, f.field(atHigh))
	move(sum, f.field(atSum))
	move(sumX, f.field(atSumX))
	zero := f.zero()
	move(zero, f.field(atBad))
	each(VMINPS, low, zero, low)
	move(low, f.field(atLow))
}

// inverse is the next trial's, and low. It notes groups whose codes would be so large
// before they are rounded that adding a number does not round them: those of the least and
// the largest element bound all.
func (f *fit) inverse() (inverse, low value) {
	low = load(f.field(atLow))
	span := load(f.field(atHigh))
	each(VSUBPS, low, span, span)
	inverse = f.try(span)
	each(VMULPS, inverse, span, span)
	least := load(f.field(atLeast))
	each(VSUBPS, low, least, least)
	each(VMULPS, inverse, least, least)
	limit, magnitude := number(1<<22), all(0x7FFFFFFF)
	for _, v := range []value{span, least} {
		each(VANDPS, magnitude, v, v)
		compare(notLess, v, limit, v)
		each(VORPS, f.field(atBad), v, v)
		move(v, f.field(atBad))
	}
	return inverse, low
}

// limits are the least and the largest code.
type limits struct{ bottom, top value }

func (f *fit) limits() limits {
	return limits{broadcast(f.field(atBottom).mem), broadcast(f.field(atTop).mem)}
}

// code rounds x*inverse to a code.
func (m limits) code(x, inverse, to value) {
	each(VMULPS, x, inverse, to)
	round(to, to)
	each(VMINPS, m.top, to, to)
	each(VMAXPS, m.bottom, to, to) // +0 of both zeros
}

// cost is the sum of weighted errors.
func (f *fit) cost(scale, low value, absolute bool) value {
	sum := f.zero()
	magnitude := value{}
	if absolute {
		magnitude = all(0x7FFFFFFF)
	}
	f.elements("cost", 0, func(i Register, half func(value) value) {
		d := one()
		each(VMULPS, half(f.element(i, atCodes)), half(scale), d)
		each(VADDPS, half(low), d, d)
		each(VSUBPS, half(f.element(i, atX)), d, d)
		if absolute {
			each(VANDPS, half(magnitude), d, d)
		} else {
			each(VMULPS, d, d, d)
		}
		each(VMULPS, half(f.element(i, atW)), d, d)
		each(VADDPS, d, half(sum), half(sum))
	})
	return sum
}

// affineTrial tries another inverse.
func (f *fit) affineTrial(m limits, absolute bool) {
	inverse, low := f.inverse()
	sl, sll, sxl := f.zero(), f.zero(), f.zero()
	f.elements("sums", 0, func(i Register, half func(value) value) {
		l, wl := load(half(f.element(i, atX))), one()
		each(VSUBPS, half(low), l, l)
		m.code(l, half(inverse), l)
		move(l, half(f.element(i, atCodes)))
		each(VMULPS, half(f.element(i, atW)), l, wl)
		each(VMULPS, wl, l, l)
		each(VADDPS, wl, half(sl), half(sl))
		each(VADDPS, l, half(sll), half(sll))
		each(VMULPS, half(f.element(i, atX)), wl, wl)
		each(VADDPS, wl, half(sxl), half(sxl))
	})
	Comment("d = sw*sll - sl*sl; scale = (sw*sxl - sx*sl)/d; low = (sll*sx - sl*sxl)/d, or 0 and sxl/sll if that is positive.")
	product := func(a, b value) value {
		p := f.new()
		each(VMULPS, a, b, p)
		return p
	}
	minus := func(a, b value) value {
		each(VSUBPS, b, a, a)
		return a
	}
	sw, sx := f.field(atSum), f.field(atSumX)
	d := minus(product(sw, sll), product(sl, sl))
	scale := minus(product(sw, sxl), product(sx, sl))
	next := minus(product(sx, sll), product(sxl, sl))
	each(VDIVPS, d, scale, scale)
	each(VDIVPS, d, next, next)
	zero := f.zero()
	better, above := d, f.new()
	compare(less, zero, d, better)
	compare(less, zero, next, above)
	each(VDIVPS, sll, sxl, sxl)
	where(above, sxl, scale)
	where(above, zero, next)
	sum := f.cost(scale, next, absolute)
	compare(less, sum, f.field(atCost), above)
	each(VANDPS, above, better, better)
	f.keep(better, result{sum, atCost}, result{scale, atScale}, result{f.trial(), atTrial}, result{f.field(atLow), atBase}, result{next, atLow})
}

// A result is numbers of groups, and where the best of them are.
type result struct {
	now value
	at  int
}

// keep keeps results in the lanes of a mask.
func (f *fit) keep(better value, results ...result) {
	for _, r := range results {
		best := load(f.field(r.at))
		where(better, r.now, best)
		move(best, f.field(r.at))
	}
}
