package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// weigh writes the weights of sixteen groups.
func weigh() {
	f := begin("importance", "weighs sixteen groups by columns, which lie where the weights come to lie: importance.",
		"For each element: s = mean+x^2;", "w = w*sqrt(s);", "the weight = w.")
	mean := load(f.field(atMean))
	f.weights(func(i Register, half func(value) value, x value) {
		each(VMULPS, x, x, x)
		each(VADDPS, half(mean), x, x)
		each(VSQRTPS, x, x)
		each(VMULPS, half(f.element(i, atW)), x, x)
	})
	f = begin("squares", "weighs sixteen groups by squares.", "For each element:", "w = x^2;", "the weight = w.")
	f.weights(func(_ Register, _ func(value) value, x value) { each(VMULPS, x, x, x) })
	f = begin("magnitudes", "weighs sixteen groups by magnitudes.", "For each element:", "w = |x|;", "the weight = w.")
	f.weights(func(_ Register, _ func(value) value, x value) { each(VANDPS, all(0x7FFFFFFF), x, x) })
	f = begin("near", "weighs sixteen groups of 32 elements: nearGroup.",
		"For each group: rms = the root of the mean of squares;", "for each element: w = rms+|x|;", "the weight = w.")
	sum := f.zero()
	f.elements("squares", 0, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		each(VMULPS, x, x, x)
		each(VADDPS, x, half(sum), half(sum))
	})
	each(VMULPS, number(1.0/32), sum, sum)
	each(VSQRTPS, sum, sum)
	f.weights(func(_ Register, half func(value) value, x value) {
		each(VANDPS, all(0x7FFFFFFF), x, x)
		each(VADDPS, x, half(sum), x)
	})
}

// weights writes the weight of each element, made of it in place, and ends the kernel.
func (f *fit) weights(weight func(i Register, half func(value) value, x value)) {
	f.elements("more", 0, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		weight(i, half, x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
}

// symmetric finds scales.
func symmetric() {
	f := begin("symmetric", "searches the scales of sixteen groups: searchSymmetric.",
		"For each group: the number of largest magnitude, the first of equals; w*x of all.",
		"For each trial: inverse = trial/largest; codes l = round(x*inverse); xl, ll = the sums of w*x*l and w*l*l.",
		"If xl^2/ll is the largest yet, the scale is xl/ll.")
	largest, most, total := f.zero(), f.zero(), f.zero()
	f.elements("largest", 0, func(i Register, half func(value) value) {
		w := load(half(f.element(i, atW)))
		each(VADDPS, w, half(total), half(total))
		each(VMULPS, half(f.element(i, atX)), w, w)
		move(w, half(f.element(i, atWX)))
		f.largest(i, half, largest, most)
	})
	move(most, f.field(atHigh))
	move(largest, f.field(atLargest))
	move(total, f.field(atSum))
	m := f.limits()
	xl, ll := f.sums(m, f.ofLargest(), false)
	some, scale := f.zero(), f.zero()
	compare(other, ll, some, some)
	f.first(xl, ll, some, scale)
	f.eachTrial(func() { f.better(f.sums(m, f.ofLargest(), false)) })
}

// sums are those of codes l under an inverse, which may be kept: w*x*l and w*l*l.
func (f *fit) sums(m limits, inverse value, keep bool) (xl, ll value) {
	xl, ll = f.zero(), f.zero()
	f.elements("sums", 0, func(i Register, half func(value) value) {
		l, wl := one(), one()
		m.code(half(f.element(i, atX)), half(inverse), l)
		if keep {
			move(l, half(f.element(i, atCodes)))
		}
		each(VMULPS, half(f.element(i, atW)), l, wl)
		each(VMULPS, l, wl, wl)
		each(VMULPS, half(f.element(i, atWX)), l, l)
		each(VADDPS, wl, half(ll), half(ll))
		each(VADDPS, l, half(xl), half(xl))
	})
	return xl, ll
}

// moves finds scales by moving codes of three bits. Few codes move, so that the processor foresees that
// one stays, and no sum waits for another: the halves of the lanes are taken in turn. What was looked at
// since a code moved is not looked at again.
func moves() {
	f := begin("moves", "searches the scales of sixteen groups: searchByMoves, codes -4 to 3.",
		"For each group: the number of largest magnitude, the first of equals; weights w = x^2, and w*x.",
		"inverse = trial/largest; codes l = round(x*inverse); xl, ll = the sums of w*x*l and w*l*l.",
		"Five times at most, for each element: without it xl' and ll'; c = round(x*ll'/xl'); it becomes the code if xl^2/ll grows.",
		"The scale is xl/ll.")
	f.parts = 1
	halves := GP64()
	MOVQ(U32(2), halves)
	emit.Repeat("half", halves, func() {
		largest, most := f.zero(), f.zero()
		f.elements("largest", 0, func(i Register, half func(value) value) {
			x, w := load(f.element(i, atX)), one()
			each(VMULPS, x, x, w)
			move(w, f.element(i, atW))
			each(VMULPS, x, w, w)
			move(w, f.element(i, atWX))
			f.largest(i, half, largest, most)
		})
		move(most, f.field(atHigh))
		xl, ll := f.sums(f.limits(), f.try(largest), true)
		still, left := emit.NewLabel("still"), GP64() // bytes of elements to look at
		MOVQ(U32(5), f.trials)
		MOVQ(f.n, left)
		emit.Repeat("round", f.trials, func() {
			f.elements("move", 0, func(i Register, _ func(value) value) {
				f.moveOne(i, xl, ll, left)
				SUBQ(Imm(element), left)
				JCS(still.Ref())
			})
		})
		still.Here()
		scale, some := f.zero(), f.new()
		compare(less, scale, ll, some)
		each(VDIVPS, ll, xl, xl)
		where(some, xl, scale)
		move(scale, f.field(atScale))
		ADDQ(Imm(32), f.s)
	})
	emit.End()
}

// moveOne moves the code of an element in the lanes where that helps.
func (f *fit) moveOne(i Register, xl, ll value, left Register) {
	w, wx, x := f.element(i, atW), f.element(i, atWX), f.element(i, atX)
	l, newX, newL, c, mask, t, stay := load(f.element(i, atCodes)), load(xl), load(ll), one(), one(), one(), emit.NewLabel("stay")
	without := func(factor, other, from value) { // from less factor*l*other
		each(VMULPS, factor, l, t)
		if other.regs != nil {
			each(VMULPS, other, t, t)
		}
		each(VSUBPS, t, from, from)
	}
	without(wx, value{}, newX)
	without(w, l, newL)
	each(VXORPS, t, t, t)
	compare(less, t, newX, mask)
	each(VMULPS, x, newL, c)
	each(VDIVPS, newX, c, c)
	roundBetween(c, number(3<<22), all(1<<23-1), all(1<<22-4), all(1<<22+3), all(1<<22))
	each(VCVTDQ2PS, c, c)
	also := func(predicate uint64, a, b value) {
		compare(predicate, a, b, t)
		each(VANDPS, t, mask, mask)
	}
	also(other, c, l)
	VTESTPS(mask.regs[0], mask.regs[0])
	JZ(stay.Ref())
	each(VMULPS, wx, c, t)
	each(VADDPS, t, newX, newX)
	each(VMULPS, w, c, t)
	each(VMULPS, c, t, t)
	each(VADDPS, t, newL, newL)
	each(VXORPS, t, t, t)
	also(less, t, newL)
	where(mask, c, l)
	fit, best := c, one()
	each(VMULPS, newX, newX, fit)
	each(VMULPS, ll, fit, fit)
	each(VMULPS, xl, xl, best)
	each(VMULPS, newL, best, best)
	each(VXORPS, t, t, t)
	compare(less, best, fit, t)
	each(VANDPS, mask, t, t)
	move(load(f.element(i, atCodes)), best)
	where(t, l, best)
	move(best, f.element(i, atCodes))
	where(t, newX, xl)
	where(t, newL, ll)
	MOVQ(f.n, left)
	stay.Here()
}

// codebook finds scales under which elements come near sixteen values.
func codebook() {
	emit.Frame("codebookSearchAVX2", "func(s *float32, values *float32, elems int, trials int)", "searches the scales of sixteen groups: scaleIQ4.",
		"For each group: the number of largest magnitude, the first of equals.",
		"For each trial: inverse = trial/largest, the first one 1/(largest/trial); values q nearest to x*inverse; qx, qq = the sums of w*q*x and w*q*q.",
		"If qx^2/qq is the largest yet, the scale is qx/qq.")
	f := &fit{s: Load(Param("s"), GP64()), n: Load(Param("elems"), GP64()), next: GP64(), trials: Load(Param("trials"), GP64()), parts: 2}
	values := Load(Param("values"), GP64())
	SHLQ(Imm(6), f.n)
	MOVQ(f.s, f.next)
	largest, most := f.zero(), f.zero()
	f.elements("largest", 0, func(i Register, half func(value) value) {
		f.largest(i, half, largest, most)
	})
	move(most, f.field(atHigh))
	move(largest, f.field(atLargest))
	inverse := f.new()
	each(VDIVPS, f.trial(), largest, largest)
	move(number(1), inverse)
	each(VDIVPS, largest, inverse, inverse)
	qx, qq := f.values(values, inverse)
	scale, above := f.zero(), f.new()
	compare(less, scale, qq, above)
	f.first(qx, qq, above, scale)
	f.eachTrial(func() { f.better(f.values(values, f.ofLargest())) })
}

// first keeps the scale of two sums where a mask says, else 0, and its fit.
func (f *fit) first(xl, ll, mask, scale value) {
	each(VDIVPS, ll, xl, ll)
	where(mask, ll, scale)
	each(VMULPS, xl, scale, xl)
	move(scale, f.field(atScale))
	move(xl, f.field(atCost))
	move(f.trial(), f.field(atTrial))
}

// largest takes an element into the numbers of largest magnitude, and those magnitudes.
func (f *fit) largest(i Register, half func(value) value, largest, most value) {
	x, m, more := load(half(f.element(i, atX))), one(), one()
	each(VANDPS, all(0x7FFFFFFF), x, m)
	compare(less, half(most), m, more)
	where(more, x, half(largest))
	where(more, m, half(most))
}

// better keeps the scale of two sums where the fit is better than the best, and both are in memory.
func (f *fit) better(xl, ll value) {
	square, least, better := f.new(), f.new(), f.new()
	each(VMULPS, xl, xl, square)
	each(VMULPS, f.field(atCost), ll, least)
	compare(less, least, square, better)
	compare(less, f.zero(), ll, least)
	each(VANDPS, least, better, better)
	each(VDIVPS, ll, xl, ll)
	each(VMULPS, xl, ll, xl)
	f.keep(better, result{ll, atScale}, result{xl, atCost}, result{f.trial(), atTrial})
}

// Where the tables of a codebook lie, in numbers: the values and what lies between them, as
// asm.searchTable has them.
const (
	tableValues = 0
	tableThird  = 16
	tableFourth = 24
	tableMiddle = 32
	tableLow    = 40
	tableHigh   = 48
)

// table is eight numbers of the tables.
func table(values Register, from int) value { return value{mem: Mem{Base: values, Disp: 4 * from}} }

// nearest finds by halves how many bounds each of eight numbers is not below: n is minus that,
// so tables run backwards, and upper is ones where it is eight or more.
func nearest(values Register, x, n, upper value) {
	m, bound := one(), one()
	compare(notLess, x, table(values, tableMiddle), upper)
	move(table(values, tableLow), bound)
	where(upper, table(values, tableHigh), bound)
	compare(notLess, x, bound, m)
	each(VPADDD, upper, upper, n)
	each(VPADDD, m, n, n)
	for _, from := range []int{tableThird, tableFourth} {
		permuted(n, table(values, from), bound)
		compare(notLess, x, bound, m)
		each(VPADDD, n, n, n)
		each(VPADDD, m, n, n)
	}
}

// permuted looks numbers up.
func permuted(index, from, to value) { VPERMPS(from.part(0), index.part(0), to.part(0)) }

// values is the sums under an inverse.
func (f *fit) values(values Register, inverse value) (qx, qq value) {
	qx, qq = f.zero(), f.zero()
	f.elements("values", 0, func(i Register, half func(value) value) {
		x, n, upper := one(), one(), one()
		each(VMULPS, half(f.element(i, atX)), half(inverse), x)
		nearest(values, x, n, upper)
		q := one()
		permuted(n, table(values, tableValues), q)
		permuted(n, table(values, tableValues+8), x)
		where(upper, x, q)
		each(VMULPS, half(f.element(i, atW)), q, x)
		each(VMULPS, x, q, q)
		each(VADDPS, q, half(qq), half(qq))
		each(VMULPS, half(f.element(i, atX)), x, x)
		each(VADDPS, x, half(qx), half(qx))
	})
	return qx, qq
}

// codebookCodes writes codes of four bits.
func codebookCodes() {
	var inverses, values, stride Register
	emit.Frame("codebookCodesAVX2", "func(dst *byte, src *float32, inverses *float32, values *float32, stride int, n int)",
		"writes the codes of n groups of 32 numbers, i and i+16 in a byte, stride bytes from group to group.",
		"For each number: q = x*inverse;", "code = how many bounds q is not below, by halves;", "dst = codes i and i+16 in a byte.")
	s := small{Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())}
	inverses, values, stride = Load(Param("inverses"), GP64()), Load(Param("values"), GP64()), Load(Param("stride"), GP64())
	emit.Repeat("group", s.n, func() {
		inverse := broadcast(Mem{Base: inverses})
		var codes [4]VecVirtual
		for i, x := range s.numbers(0) {
			scaled, n := value{regs: []VecVirtual{x}}, one()
			each(VMULPS, inverse, scaled, scaled)
			nearest(values, scaled, n, one())
			codes[i] = n.regs[0]
		}
		c := emit.Packed(codes, VPACKSSWB)
		VPABSB(c, c)
		s.putNibbles(c, 0)
		ADDQ(Imm(128), s.src)
		ADDQ(stride, s.dst)
		ADDQ(Imm(4), inverses)
	})
	emit.End()
}
