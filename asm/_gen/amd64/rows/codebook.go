package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

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
		c := packed(codes, VPACKSSWB)
		VPABSB(c, c)
		s.putNibbles(c, 0)
		ADDQ(Imm(128), s.src)
		ADDQ(stride, s.dst)
		ADDQ(Imm(4), inverses)
	})
	emit.End()
}
