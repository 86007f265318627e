package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A fit is a kernel of a search under construction.
type fit struct {
	level
	s, n   Register // the memory of the search, and the bytes of an array's elements
	next   Register // the next trial's number, at atTrials
	trials Register // how many are left
	parts  int      // registers of a value: two, or one if it is wide or the halves of the lanes are handled in turn
}

// begin begins a kernel.
func (l level) begin(name, params, doc string, how ...string) *fit {
	emit.Frame(name+l.Level, "func(s *float32"+params+", elems int, trials int)", doc, how...)
	f := &fit{l, Load(Param("s"), GP64()), Load(Param("elems"), GP64()), GP64(), Load(Param("trials"), GP64()), element / l.Bytes}
	SHLQ(Imm(6), f.n)
	MOVQ(f.s, f.next)
	return f
}

// field returns a number of each group.
func (f *fit) field(offset int) value {
	return value{mem: Mem{Base: f.s, Disp: offset}, step: f.Bytes * (f.parts - 1)}
}

// element returns element i of each group.
func (f *fit) element(i Register, offset int) value {
	return value{mem: Mem{Base: f.s, Index: i, Scale: 1, Disp: offset}, step: f.Bytes * (f.parts - 1)}
}

// trial returns the number of the next trial in all lanes.
func (f *fit) trial() value { return f.broadcast(Mem{Base: f.next, Disp: atTrials}) }

// try returns that over d.
func (f *fit) try(d value) value { return f.of(VDIVPS, d, f.trial()) }

// ofLargest returns that over the numbers of largest magnitude.
func (f *fit) ofLargest() value { return f.try(f.load(f.field(atLargest))) }

// eachTrial writes a loop over the trials but the first, up to the kernel's end.
func (f *fit) eachTrial(body func()) {
	emit.Repeat("trial", f.trials, func() {
		ADDQ(Imm(4), f.next)
		body()
	})
	emit.End()
}

// affine writes the search of scale and minimum.
func (l level) affine(name string, absolute bool) {
	f := l.begin(name, "", "searches scale and minimum of sixteen groups: affineSearch.find.",
		"For each group: low, high, the sums of weights w and of w*x; the scale that spans it, and its error.",
		"For each trial: inverse = trial/(high-low); codes l = round((x-low)*inverse); the sums of w*l, w*l*l and w*l*x;",
		"the scale and low that fit them best; the sum of w*"+map[bool]string{false: "d^2", true: "|d|"}[absolute]+", d = scale*l+low-x. If that is the least yet, they stay.")
	f.spread()
	inverse, low := f.inverse()
	scale := f.new()
	move(f.number(1), scale)
	each(VDIVPS, inverse, scale, scale)
	move(scale, f.field(atScale))
	move(low, f.field(atBase))
	move(f.trial(), f.field(atTrial))
	limits := f.limits()
	f.elements("code", 0, func(i Register, half func(value) value) {
		c := f.load(half(f.element(i, atX)))
		each(VSUBPS, half(low), c, c)
		f.code(limits, c, half(inverse), c)
		move(c, half(f.element(i, atCodes)))
	})
	move(f.cost(scale, low, absolute), f.field(atCost))
	f.eachTrial(func() { f.affineTrial(limits, absolute) })
}

// spread computes least and largest numbers and the sums of weights, as Go's spread.
func (f *fit) spread() {
	low, high, sum := f.load(f.field(atX)), f.load(f.field(atX)), f.load(f.field(atW))
	sumX := f.times(f.field(atX), sum)
	f.elements("spread", element, func(i Register, half func(value) value) {
		x, w := f.load(half(f.element(i, atX))), f.load(half(f.element(i, atW)))
		each(VMINPS, half(low), x, half(low)) // the second where they are equal: what there was
		each(VMAXPS, half(high), x, half(high))
		plus(w, half(sum))
		plus(f.times(x, w), half(sumX))
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

// inverse returns the next trial's reciprocal, and low. It records groups whose unrounded
// codes would be so large that adding a number does not round them; the least and the
// largest element bound all codes.
func (f *fit) inverse() (inverse, low value) {
	low = f.load(f.field(atLow))
	span := f.load(f.field(atHigh))
	each(VSUBPS, low, span, span)
	inverse = f.try(span)
	least := f.load(f.field(atLeast))
	each(VSUBPS, low, least, least)
	for _, v := range []value{f.times(inverse, span), f.times(inverse, least)} {
		each(VANDPS, f.all(0x7FFFFFFF), v, v)
		bad := f.ones(f.compare(notLess, v, f.number(1<<22)))
		each(VORPS, f.field(atBad), bad, bad)
		move(bad, f.field(atBad))
	}
	return inverse, low
}

// limits are the least and the largest code.
type limits struct{ bottom, top value }

func (f *fit) limits() limits {
	return limits{f.broadcast(f.field(atBottom).mem), f.broadcast(f.field(atTop).mem)}
}

// code rounds x*inverse to a code.
func (f *fit) code(m limits, x, inverse, to value) {
	each(VMULPS, x, inverse, to)
	f.round(to)
	each(VMINPS, m.top, to, to)
	each(VMAXPS, m.bottom, to, to) // +0 of both zeros
}

// cost returns the sum of weighted errors.
func (f *fit) cost(scale, low value, absolute bool) value {
	sum := f.zero()
	f.elements("cost", 0, func(i Register, half func(value) value) {
		d := f.times(half(f.element(i, atCodes)), half(scale))
		plus(half(low), d)
		each(VSUBPS, half(f.element(i, atX)), d, d)
		if absolute {
			each(VANDPS, f.all(0x7FFFFFFF), d, d)
		} else {
			d = f.times(d, d)
		}
		plus(f.times(half(f.element(i, atW)), d), half(sum))
	})
	return sum
}

// affineTrial tries another reciprocal.
func (f *fit) affineTrial(m limits, absolute bool) {
	inverse, low := f.inverse()
	sl, sll, sxl := f.zero(), f.zero(), f.zero()
	f.elements("sums", 0, func(i Register, half func(value) value) {
		l := f.load(half(f.element(i, atX)))
		each(VSUBPS, half(low), l, l)
		f.code(m, l, half(inverse), l)
		move(l, half(f.element(i, atCodes)))
		wl := f.times(half(f.element(i, atW)), l)
		plus(wl, half(sl))
		plus(f.times(wl, l), half(sll))
		plus(f.times(half(f.element(i, atX)), wl), half(sxl))
	})
	Comment("d = sw*sll - sl*sl; scale = (sw*sxl - sx*sl)/d; low = (sll*sx - sl*sxl)/d, or 0 and sxl/sll if that is positive.")
	minus := func(a, b value) value { return f.of(VSUBPS, b, a) }
	sw, sx := f.field(atSum), f.field(atSumX)
	d := minus(f.times(sw, sll), f.times(sl, sl))
	scale := minus(f.times(sw, sxl), f.times(sx, sl))
	next := minus(f.times(sx, sll), f.times(sxl, sl))
	each(VDIVPS, d, scale, scale)
	each(VDIVPS, d, next, next)
	zero := f.zero()
	better, above := f.compare(less, zero, d), f.compare(less, zero, next)
	each(VDIVPS, sll, sxl, sxl)
	f.where(above, sxl, scale)
	f.where(above, zero, next)
	sum := f.cost(scale, next, absolute)
	f.and(f.compare(less, sum, f.field(atCost)), better)
	f.keep(better, result{sum, atCost}, result{scale, atScale}, result{f.trial(), atTrial}, result{f.field(atLow), atBase}, result{next, atLow})
}

// A result is a number of each group, and where the best is stored.
type result struct {
	now value
	at  int
}

// keep stores results in the lanes of a mask.
func (f *fit) keep(better value, results ...result) {
	for _, r := range results {
		best := f.load(f.field(r.at))
		f.where(better, r.now, best)
		move(best, f.field(r.at))
	}
}
