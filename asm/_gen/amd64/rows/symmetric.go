package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// weigh writes the kernel that weighs sixteen groups.
func (l level) weigh() {
	f := l.begin("squares", "", "weighs sixteen groups by squares.", "For each element:", "w = x^2;", "the weight = w.")
	f.weights(func(_ Register, _ func(value) value, x value) { each(VMULPS, x, x, x) })
	f = l.begin("magnitudes", "", "weighs sixteen groups by magnitudes.", "For each element:", "w = |x|;", "the weight = w.")
	f.weights(func(_ Register, _ func(value) value, x value) { each(VANDPS, f.all(0x7FFFFFFF), x, x) })
	f = l.begin("near", "", "weighs sixteen groups of 32 elements: nearGroup.",
		"For each group: rms = the root of the mean of squares;", "for each element: w = rms+|x|;", "the weight = w.")
	sum := f.zero()
	f.elements("squares", 0, func(i Register, half func(value) value) {
		x := f.load(half(f.element(i, atX)))
		plus(f.times(x, x), half(sum))
	})
	each(VMULPS, f.number(1.0/32), sum, sum)
	each(VSQRTPS, sum, sum)
	f.weights(func(_ Register, half func(value) value, x value) {
		each(VANDPS, f.all(0x7FFFFFFF), x, x)
		each(VADDPS, x, half(sum), x)
	})
}

// importance weighs by columns.
func importance() {
	f := narrow.begin("importance", "", "weighs sixteen groups by columns, which lie where the weights come to lie: importance.",
		"For each element: s = mean+x^2;", "w = w*sqrt(s);", "the weight = w.")
	mean := f.load(f.field(atMean))
	f.weights(func(i Register, half func(value) value, x value) {
		each(VMULPS, x, x, x)
		plus(half(mean), x)
		each(VSQRTPS, x, x)
		each(VMULPS, half(f.element(i, atW)), x, x)
	})
}

// weights writes the weight of each element, computed in place, and ends the kernel.
func (f *fit) weights(weight func(i Register, half func(value) value, x value)) {
	f.elements("more", 0, func(i Register, half func(value) value) {
		x := f.load(half(f.element(i, atX)))
		weight(i, half, x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
}

// symmetric writes the search of scales.
func (l level) symmetric() {
	f := l.begin("symmetric", "", "searches the scales of sixteen groups: searchSymmetric.",
		"For each group: the number of largest magnitude, the first of equals; w*x of all.",
		"For each trial: inverse = trial/largest; codes l = round(x*inverse); xl, ll = the sums of w*x*l and w*l*l.",
		"If xl^2/ll is the largest yet, the scale is xl/ll.")
	largest, most, total := f.zero(), f.zero(), f.zero()
	f.elements("largest", 0, func(i Register, half func(value) value) {
		w := f.load(half(f.element(i, atW)))
		plus(w, half(total))
		move(f.times(half(f.element(i, atX)), w), half(f.element(i, atWX)))
		f.largest(i, half, largest, most)
	})
	move(most, f.field(atHigh))
	move(largest, f.field(atLargest))
	move(total, f.field(atSum))
	m := f.limits()
	xl, ll := f.sums(m, f.ofLargest(), false)
	f.first(xl, ll, f.compare(other, ll, f.zero()))
	f.eachTrial(func() { f.better(f.sums(m, f.ofLargest(), false)) })
}

// sums returns w*x*l and w*l*l for the codes l under a reciprocal, and stores the codes if
// keep is set.
func (f *fit) sums(m limits, inverse value, keep bool) (xl, ll value) {
	xl, ll = f.zero(), f.zero()
	f.elements("sums", 0, func(i Register, half func(value) value) {
		l := f.one()
		f.code(m, half(f.element(i, atX)), half(inverse), l)
		if keep {
			move(l, half(f.element(i, atCodes)))
		}
		plus(f.times(l, f.times(half(f.element(i, atW)), l)), half(ll))
		plus(f.times(half(f.element(i, atWX)), l), half(xl))
	})
	return xl, ll
}

// moves writes the search by moving codes of three bits. Few codes move, so that branches
// are predictable, and no sum waits for another: the halves of the lanes are handled in
// turn. Elements examined since the last move are not examined again.
func (l level) moves() {
	f := l.begin("moves", "", "searches the scales of sixteen groups: searchByMoves, codes -4 to 3.",
		"For each group: the number of largest magnitude, the first of equals; weights w = x^2, and w*x.",
		"inverse = trial/largest; codes l = round(x*inverse); xl, ll = the sums of w*x*l and w*l*l.",
		"Five times at most, for each element: without it xl' and ll'; c = round(x*ll'/xl'); it becomes the code if xl^2/ll grows.",
		"The scale is xl/ll.")
	halves := emit.Into(GP64(), MOVQ, U32(uint32(f.parts)))
	f.parts = 1
	emit.Repeat("half", halves, func() {
		largest, most := f.zero(), f.zero()
		f.elements("largest", 0, func(i Register, half func(value) value) {
			x := f.load(f.element(i, atX))
			w := f.times(x, x)
			move(w, f.element(i, atW))
			move(f.times(x, w), f.element(i, atWX))
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
		scale := f.zero()
		some := f.compare(less, scale, ll)
		each(VDIVPS, ll, xl, xl)
		f.where(some, xl, scale)
		move(scale, f.field(atScale))
		ADDQ(Imm(uint64(f.Bytes)), f.s)
	})
	emit.End()
}

// moveOne moves the code of an element in the lanes where that helps.
func (f *fit) moveOne(i Register, xl, ll value, left Register) {
	w, wx, x := f.element(i, atW), f.element(i, atWX), f.element(i, atX)
	l, stay := f.load(f.element(i, atCodes)), emit.NewLabel("stay")
	newX := f.of(VSUBPS, f.times(wx, l), xl)
	newL := f.of(VSUBPS, f.times(l, f.times(w, l)), ll)
	mask := f.compare(less, f.zero(), newX)
	c := f.of(VDIVPS, newX, f.times(x, newL))
	roundBetween(c, f.number(3<<22), f.all(1<<23-1), f.all(1<<22-4), f.all(1<<22+3), f.all(1<<22))
	each(VCVTDQ2PS, c, c)
	f.and(f.compare(other, c, l), mask)
	f.ifNone(mask, stay)
	plus(f.times(wx, c), newX)
	plus(f.times(c, f.times(w, c)), newL)
	f.and(f.compare(less, f.zero(), newL), mask)
	better := f.compare(less, f.times(newL, f.times(xl, xl)), f.times(ll, f.times(newX, newX)))
	f.and(mask, better)
	f.where(better, c, l)
	move(l, f.element(i, atCodes))
	f.where(better, newX, xl)
	f.where(better, newL, ll)
	MOVQ(f.n, left)
	stay.Here()
}

// codebook writes the search of scales for a codebook of sixteen values.
func (l level) codebook() {
	f := l.begin("codebookSearch", ", values *float32", "searches the scales of sixteen groups: scaleIQ4.",
		"For each group: the number of largest magnitude, the first of equals.",
		"For each trial: inverse = trial/largest, the first one 1/(largest/trial); values q nearest to x*inverse; qx, qq = the sums of w*q*x and w*q*q.",
		"If qx^2/qq is the largest yet, the scale is qx/qq.")
	b := f.codebookAt(Load(Param("values"), GP64()))
	largest, most := f.zero(), f.zero()
	f.elements("largest", 0, func(i Register, half func(value) value) {
		f.largest(i, half, largest, most)
	})
	move(most, f.field(atHigh))
	move(largest, f.field(atLargest))
	one := f.new()
	move(f.number(1), one)
	qx, qq := f.values(b, f.of(VDIVPS, f.of(VDIVPS, f.trial(), largest), one))
	f.first(qx, qq, f.compare(less, f.zero(), qq))
	f.eachTrial(func() { f.better(f.values(b, f.ofLargest())) })
}

// first stores the scale of two sums, or 0 where a mask is clear, and its fit.
func (f *fit) first(xl, ll, mask value) {
	scale := f.zero()
	f.where(mask, f.of(VDIVPS, ll, xl), scale)
	move(scale, f.field(atScale))
	move(f.times(xl, scale), f.field(atCost))
	move(f.trial(), f.field(atTrial))
}

// largest updates the numbers of largest magnitude, and those magnitudes, with an element.
func (f *fit) largest(i Register, half func(value) value, largest, most value) {
	x := f.load(half(f.element(i, atX)))
	m := f.of(VANDPS, f.all(0x7FFFFFFF), x)
	more := f.compare(less, half(most), m)
	f.where(more, x, half(largest))
	f.where(more, m, half(most))
}

// better stores the scale of two sums where the fit is better than the best.
func (f *fit) better(xl, ll value) {
	better := f.compare(less, f.times(f.field(atCost), ll), f.times(xl, xl))
	f.and(f.compare(less, f.zero(), ll), better)
	scale := f.of(VDIVPS, ll, xl)
	f.keep(better, result{scale, atScale}, result{f.times(xl, scale), atCost}, result{f.trial(), atTrial})
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

// codebookTables find the nearest of sixteen values.
type codebookTables struct {
	*emit.Halves
	values [2]Op // eight and eight backwards, or all forwards
}

// codebookAt loads those at an address.
func (l level) codebookAt(values Register) codebookTables {
	at := func(from int) Mem { return Mem{Base: values, Disp: 4 * from} }
	b := codebookTables{l.Halves(notLess, false, at(tableThird), at(tableFourth), at(tableMiddle), at(tableLow), at(tableHigh)), [2]Op{at(tableValues), at(tableValues + 8)}}
	if l.Wide() {
		all := emit.Into(ZMM(), VMOVDQU32, emit.Dwords64(func(i int) int { return i&8 + -i&7 }))
		VPERMPS(at(tableValues), all, all)
		b.values[0] = all
	}
	return b
}

// value returns the nearest value.
func (b codebookTables) value(x value) value {
	n, upper := b.Count(x.vector())
	q, above := b.One(), b.One()
	if VPERMPS(b.values[0], n, q); !b.Wide() {
		VPERMPS(b.values[1], n, above)
		VBLENDVPS(upper, above, q, q)
	}
	return value{regs: []Register{q}}
}

// values returns the sums under a reciprocal.
func (f *fit) values(b codebookTables, inverse value) (qx, qq value) {
	qx, qq = f.zero(), f.zero()
	f.elements("values", 0, func(i Register, half func(value) value) {
		q := b.value(f.times(half(f.element(i, atX)), half(inverse)))
		wq := f.times(half(f.element(i, atW)), q)
		plus(f.times(wq, q), half(qq))
		plus(f.times(half(f.element(i, atX)), wq), half(qx))
	})
	return qx, qq
}

// codebookCodes writes codes of four bits.
func (l level) codebookCodes() {
	emit.Frame("codebookCodes"+l.Level, "func(dst *byte, src *float32, inverses *float32, values *float32, stride int, n int)",
		"writes the codes of n groups of 32 numbers, i and i+16 in a byte, stride bytes from group to group.",
		"For each number: q = x*inverse;", "code = how many bounds q is not below, by halves;", "dst = codes i and i+16 in a byte.")
	s := small{l, Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())}
	inverses, stride := Load(Param("inverses"), GP64()), Load(Param("stride"), GP64())
	b := l.codebookAt(Load(Param("values"), GP64()))
	emit.Repeat("group", s.n, func() {
		inverse := l.broadcast(Mem{Base: inverses})
		var codes []VecVirtual
		for _, x := range s.numbers(0) {
			VMULPS(inverse.regs[0], x, x)
			n, _ := b.Count(x)
			codes = append(codes, n)
		}
		if l.Wide() {
			s.putDwords(codes, 0)
		} else {
			c := emit.Packed([4]VecVirtual(codes), VPACKSSWB)
			VPABSB(c, c)
			s.putNibbles(c, 0)
		}
		ADDQ(Imm(128), s.src)
		ADDQ(stride, s.dst)
		ADDQ(Imm(4), inverses)
	})
	emit.End()
}
