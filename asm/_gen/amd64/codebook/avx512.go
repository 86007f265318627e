// Package codebook is codes of four bits that a codebook of sixteen numbers explains, in runs
// that have a scale of their own, and perhaps a zero point or a minimum.
package codebook

import (
	"strconv"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A kernel is nibbles that a codebook of sixteen numbers explains, two of
// a byte following each other. The order says which is the first: the places,
// in bits, where bytes of indices are cut out of eight bytes. What the codebook comes
// to is rounded once per run, into a table.
//
// The numbers of a codebook are zero or from 2^-20 to 2^31; others are left to the level
// below. The numbers of sixteen runs are looked at together. Where all are ordinary nothing
// comes to a subnormal number, to infinity or NaN, and rounding is quick; else tables
// are made by a [Product].
type kernel struct {
	*Kernel
	join            Join
	elems           int
	unit            int // runs that are decoded together: two of sixteen numbers
	each            int // codes in a byte: two, or one that an order of dwords rotates to its place
	a, b            Register
	codebook, order VecVirtual
	upper           OpmaskVirtual // qwords of the second eight bytes
	some            OpmaskVirtual // where the codebook is not zero
	code, parts     VecVirtual    // the bits of an index that are a code's, and what it has else
	least, span     [2]VecVirtual // of ordinary magnitudes: scales, and zero points or minima
	times, less     VecVirtual    // 65536 and 65535, that round
	last, one       VecVirtual    // 10000 and 1 in each dword
	uppers          VecVirtual    // in both halves of dwords the upper one,
	lower           OpmaskVirtual // and the bytes of lower ones
	twice           VecVirtual    // each byte of 32, two times
	exact, kept     Register      // whether tables are made of what is kept, and where that is, from the scales
	way             Mem           // what is kept
	products        *Product
	every, none     OpmaskVirtual // the runs that are looked at; where the codebook is zero
	runs, chunks    Register
	sums            Table // of the run that is decoded
}

// group is how many runs are looked at together.
const group = 16

// AVX512 writes kernels in registers of 64 bytes, of runs of chunks of 16 codes and of 32. Longer chunks are not
// faster.
func AVX512() {
	for _, t := range LevelTargets() {
		write("halfBytesShift", JoinShift, t, 32, true)
	}
	for _, j := range []Join{JoinScale, JoinShift, JoinAffine} {
		for _, t := range LevelTargets() {
			for _, elems := range []int{16, 32} {
				if elems > 16 || j == JoinScale {
					write("codebook"+string(j)+strconv.Itoa(elems), j, t, elems, false)
				}
			}
		}
	}
}

func write(name string, j Join, t Target, elems int, bytes bool) {
	k := &kernel{join: j, elems: elems, unit: max(1, 32/elems), each: 2}
	if bytes {
		k.each = 1
	}
	k.Kernel = Begin(name, t, ", a *float32, b *float32, codebook *float32, order *byte, chunks int, n int",
		"decodes n runs of chunks of that many nibbles.",
		"For 16 runs at once: are the scales a, and zero points or minima b, ordinary?",
		"For each run: table[q] = "+formula[j]+", rounded; if not ordinary enlarged by 2^128.",
		"For each chunk: number = table[q].")
	k.before()
	n := Load(Param("n"), GP64())
	k.runs, k.chunks = GP64(), GP64()
	for range k.unit {
		k.sums = append(k.sums, ZMM())
	}
	most := Into(GP64(), MOVQ, U32(group))
	groups, run, chunk, odd, exact, next := NewLabel("group"), NewLabel("run"), NewLabel("chunk"), NewLabel("odd"), NewLabel("exact"), NewLabel("next")

	groups.Here()
	Comment("Sixteen runs, or what is left.")
	MOVQ(n, k.runs)
	CMPQ(k.runs, most)
	CMOVQGT(most, k.runs)
	SUBQ(k.runs, n)
	k.look(odd)
	k.ones(run, next)

	run.Here()
	Comment("The table of a run.")
	Load(Param("chunks"), k.chunks)
	TESTQ(k.exact, k.exact)
	JNZ(exact.Ref())
	k.table(k.sums, 0, k.ordinary)
	chunk.Here()
	k.lookup(0, k.indices(0), k.sums)
	k.Advance(32/k.each, 32)
	DECQ(k.chunks)
	JNZ(chunk.Ref())
	k.pass(k.unit)
	SUBQ(Imm(uint64(k.unit)), k.runs)
	JNZ(run.Ref())
	next.Here()
	TESTQ(n, n)
	JNZ(groups.Ref())
	End()

	odd.Here()
	Comment("Sixteen runs that are not all ordinary.")
	k.prepare()
	JMP(run.Ref())
	exact.Here()
	Comment("The table of a run that may not be ordinary.")
	k.table(k.sums, 0, k.exactly)
	JMP(chunk.Ref())
}

// formula is what a table has for the code q.
var formula = map[Join]string{
	JoinScale: "codebook[q]*a", JoinShift: "(codebook[q]-b)*a", JoinAffine: "codebook[q]*a + b",
}

// ones is sixteen runs of a chunk each, some of them together; any other ones
// leave for run.
func (k *kernel) ones(run, next Place) {
	const together = 4
	Load(Param("chunks"), k.chunks)
	CMPQ(k.runs, Imm(group))
	JNE(run.Ref())
	CMPQ(k.chunks, Imm(1))
	JNE(run.Ref())
	ones := NewLabel("ones")
	ones.Here()
	Comment("Four runs of a chunk each.")
	for r := 0; r < together; r += k.unit {
		t := Table{ZMM(), ZMM()}[:k.unit]
		k.table(t, r, k.ordinary)
		k.lookup(r*k.elems, k.indices(r*k.elems/k.each), t)
	}
	k.Advance(together*k.elems/k.each, together*k.elems)
	k.pass(together)
	SUBQ(Imm(together), k.runs)
	JNZ(ones.Ref())
	JMP(next.Ref())
}

// pass goes on by so many runs.
func (k *kernel) pass(runs int) {
	ADDQ(Imm(uint64(4*runs)), k.a)
	ADDQ(Imm(uint64(4*runs)), k.b)
}

func (k *kernel) before() {
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.codebook = Load64(Mem{Base: Load(Param("codebook"), GP64())})
	k.order = Load64(Mem{Base: Load(Param("order"), GP64())})
	k.upper = MaskOf(0xF0)
	if k.each == 1 && k.Words() {
		k.twice = Load64(Bytes64(func(i int) int { return i / 2 }))
	}
	second := func(parts int) VecVirtual { // what the index of a second run has
		return Load64(Words64(func(i int) int {
			if k.unit == 2 && i >= 16 {
				return parts >> 16
			}
			return parts & 0xFFFF
		}))
	}
	switch {
	case k.Narrow:
		k.code, k.parts = All(0x1E1E1E1E), second(0x21200100)
	case !k.Wide:
		k.code, k.parts = All(0x3C3C3C3C), second(0x01000302)
		k.times, k.less, k.last, k.one = Single(Floats(65536)), Single(Floats(65535)), All(0x10000), All(1)
		k.uppers, k.lower = Load64(Bytes64(func(i int) int { return i | 2 })), MaskOf(0x3333333333333333)
	}
	k.classes()
}

// classes sets the bounds of what is ordinary.
func (k *kernel) classes() {
	k.some = K()
	x := Into(ZMM(), VPANDD_BCST, Dwords(0x7FFFFFFF), k.codebook)
	VPTESTMD(x, x, k.some)
	k.least[0], k.span[0] = Single(OrdinaryScale.From()), Single(OrdinaryScale.Width())
	if r, ok := OrdinaryOther[k.join]; ok {
		k.least[1], k.span[1] = Single(r.From()), Single(r.Width())
	}
	k.exact, k.kept = GP64(), GP64()
	k.Align()
	k.way = k.Room(5 * 64)
}

// look says of so many runs whether they are ordinary; if not it leaves for odd. Zero
// is no ordinary scale, since rounding does not keep its sign, and minus zero no
// ordinary minimum.
func (k *kernel) look(odd Place) {
	k.every = K()
	every, r := k.every, GP32()
	MOVL(U32(0xFFFF), r)
	BZHIL(k.runs.(GPVirtual).As32(), r, r)
	KMOVW(r, every)
	y := Into(ZMM(), VMOVDQU32_Z, Mem{Base: k.a}, every)
	VPANDD_BCST(Dwords(0x7FFFFFFF), y, y)
	VPSUBD(k.least[0], y, y)
	not := Into(K(), VPCMPUD, Imm(5), k.span[0], y, every)
	if k.join != JoinScale {
		s, y, some, also := ZMM(), ZMM(), K(), K()
		VMOVDQU32_Z(Mem{Base: k.b}, every, s)
		VPANDD_BCST(Dwords(0x7FFFFFFF), s, y)
		if k.join == JoinShift {
			VPTESTMD(y, y, some)
		} else {
			VPTESTMD(s, s, some)
		}
		VPSUBD(k.least[1], y, y)
		VPCMPUD(Imm(5), k.span[1], y, some, also)
		KORW(not, also, not)
	}
	XORL(k.exact.(GPVirtual).As32(), k.exact.(GPVirtual).As32())
	KORTESTW(not, not)
	JNZ(odd.Ref())
}

// prepare makes ready what runs take that are not all ordinary: for sixteen of them
// products with negated scales, so that every NaN has the sign; zero points, as zero where a number of the codebook does not feel them; and what
// zero comes to, in double precision. Under zero points from 2^80 on all
// codes come to that, by way of 2^56, which no number of a codebook changes.
func (k *kernel) prepare() {
	load := func(m Mem) VecVirtual {
		return Into(ZMM(), VMOVDQU32_Z, m, k.every)
	}
	MOVQ(I64(1), k.exact)
	LEAQ(k.way, k.kept)
	SUBQ(k.a, k.kept)
	scale, signs := load(Mem{Base: k.a}), All(0x80000000)
	Quieted(scale)
	VXORPS(signs, scale, scale)
	k.products = NewProduct(scale)
	if k.join == JoinShift {
		zero, nothing, mag, felt, huge := load(Mem{Base: k.b}), ZMM(), ZMM(), K(), K()
		VPXORD(nothing, nothing, nothing)
		VSUBPS(zero, nothing, nothing)
		p, d := InDoubles(nothing), InDoubles(load(Mem{Base: k.a}))
		for i, p := range p {
			VMULPD(d[i], p, p)
		}
		InSingles(p, nothing)
		VPANDD_BCST(Dwords(0x7FFFFFFF), zero, mag)
		VPCMPUD_BCST(Imm(5), Dwords((127-46)<<23), mag, felt) // not less
		VPCMPUD_BCST(Imm(5), Dwords((127+80)<<23), mag, huge)
		VMOVDQA32_Z(zero, felt, zero)
		VPBROADCASTD(Floats(-0x1p56), huge, zero)
		VMOVUPS(zero, k.way.Offset(3*64))
		VMOVUPS(nothing, k.way.Offset(4*64))
		VXORPS(signs, nothing, nothing)
		k.products.Become(Floats(0x1p-56), nothing, huge)
		k.none = Into(K(), KNOTW, k.some)
	}
	k.products.Keep(k.way)
}

// exactly is what the codebook comes to in any run, as a table, each step rounded to float32.
func (k *kernel) exactly(x VecVirtual, run int) {
	kept := func(i int) Mem { return Mem{Base: k.a, Index: k.kept, Scale: 1, Disp: 64*i + 4*run} }
	if k.join == JoinShift {
		VSUBPS_BCST(kept(3), k.codebook, x)
	} else {
		VMOVAPS(k.codebook, x)
	}
	k.products.At(kept(0)).OfNegated(x)
	switch k.join {
	case JoinShift:
		VPBROADCASTD(kept(4), k.none, x)
	case JoinAffine:
		VADDPS_BCST(Mem{Base: k.b, Disp: 4 * run}, x, x)
		Quieted(x)
	}
	k.rounded(x)
}
