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
// The numbers of sixteen runs are looked at together. Where all are ordinary nothing
// comes to a subnormal number, to infinity or NaN, and rounding is quick; else tables
// are made in double precision.
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
	doubles         [2]VecVirtual // the codebook
	exact           Register      // whether tables are made in double precision
	runs, chunks    Register
	sums            Table // of the run that is decoded
}

// group is how many runs are looked at together.
const group = 16

// AVX512 writes kernels in registers of 64 bytes, of runs of chunks of 16, 32 and 64 codes.
func AVX512() {
	for _, t := range LevelTargets() {
		write("halfBytesShift", JoinShift, t, 32, true)
	}
	for _, j := range []Join{JoinScale, JoinShift, JoinAffine} {
		for _, t := range LevelTargets() {
			for _, elems := range []int{16, 32, 64} {
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
		"For each run: table[q] = "+formula[j]+", rounded; if not ordinary in double precision.",
		"For each chunk: number = table[q].")
	k.before()
	n := Load(Param("n"), GP64())
	k.runs, k.chunks = GP64(), GP64()
	for range k.unit {
		k.sums = append(k.sums, ZMM())
	}
	most := GP64()
	MOVQ(U32(group), most)
	groups, run, chunk, exact, next := NewLabel("group"), NewLabel("run"), NewLabel("chunk"), NewLabel("exact"), NewLabel("next")

	groups.Here()
	Comment("Sixteen runs, or what is left.")
	MOVQ(n, k.runs)
	CMPQ(k.runs, most)
	CMOVQGT(most, k.runs)
	SUBQ(k.runs, n)
	k.look(run)
	k.ones(run, next)

	run.Here()
	Comment("The table of a run.")
	Load(Param("chunks"), k.chunks)
	TESTQ(k.exact, k.exact)
	JNZ(exact.Ref())
	k.table(k.sums, 0, k.ordinary)
	chunk.Here()
	in := max(elems, 32)
	for i := 0; i < in; i += 32 {
		k.lookup(i, k.indices(i/k.each), k.sums)
	}
	k.Advance(in/k.each, in)
	DECQ(k.chunks)
	JNZ(chunk.Ref())
	k.pass(k.unit)
	SUBQ(Imm(uint64(k.unit)), k.runs)
	JNZ(run.Ref())
	next.Here()
	TESTQ(n, n)
	JNZ(groups.Ref())
	End()

	exact.Here()
	Comment("The table of a run that is not ordinary.")
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
		for at := r * k.elems; at < (r+k.unit)*k.elems; at += 32 {
			k.lookup(at, k.indices(at/k.each), t)
		}
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

// classes sets the bounds of what is ordinary: no scale is, if the codebook has a number
// that is not.
func (k *kernel) classes() {
	bounds := Range{Least: -20, Most: 31}
	x, odd := ZMM(), K()
	k.some = K()
	VPANDD_BCST(Dwords(0x7FFFFFFF), k.codebook, x)
	VPTESTMD(x, x, k.some)
	VPSUBD_BCST(bounds.From(), x, x)
	VPCMPUD_BCST(Imm(5), bounds.Width(), x, k.some, odd)
	span, none := GP32(), GP32()
	MOVL(U32(160<<23), span)
	XORL(none, none)
	KORTESTW(odd, odd)
	CMOVLNE(none, span)
	k.least[0], k.span[0] = Single(OrdinaryScale.From()), ZMM()
	VPBROADCASTD(span, k.span[0])
	if r, ok := OrdinaryOther[k.join]; ok {
		k.least[1], k.span[1] = Single(r.From()), Single(r.Width())
	}
	k.doubles = InDoubles(k.codebook)
	k.exact = GP64()
}

// look says of so many runs whether they are ordinary; if not it leaves for run. Zero
// is no ordinary scale, since rounding does not keep its sign, and minus zero no
// ordinary minimum.
func (k *kernel) look(run Place) {
	every, r := K(), GP32()
	MOVL(U32(0xFFFF), r)
	BZHIL(k.runs.(GPVirtual).As32(), r, r)
	KMOVW(r, every)
	y, odd := ZMM(), K()
	VMOVDQU32_Z(Mem{Base: k.a}, every, y)
	VPANDD_BCST(Dwords(0x7FFFFFFF), y, y)
	VPSUBD(k.least[0], y, y)
	VPCMPUD(Imm(5), k.span[0], y, every, odd)
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
		KORW(odd, also, odd)
	}
	XORL(k.exact.(GPVirtual).As32(), k.exact.(GPVirtual).As32())
	KORTESTW(odd, odd)
	SETNE(k.exact.(GPVirtual).As8())
	JNZ(run.Ref())
}

// exactly is what any codebook comes to, as a table, each step rounded to float32. A
// difference of float32 is not slow, whatever it is; a product may be.
func (k *kernel) exactly(x VecVirtual, run int) {
	a, b := Mem{Base: k.a, Disp: 4 * run}, Mem{Base: k.b, Disp: 4 * run}
	s, p := ZMM(), [2]VecVirtual{ZMM(), ZMM()}
	VCVTPS2PD_BCST(a, s)
	switch k.join {
	case JoinShift:
		VSUBPS_BCST(b, k.codebook, x)
		p = InDoubles(x)
		for _, p := range p {
			VMULPD(s, p, p)
		}
	case JoinAffine:
		m := ZMM()
		VCVTPS2PD_BCST(b, m)
		for i, p := range p {
			VMULPD(s, k.doubles[i], p)
			VCVTPD2PS(p, p.AsY())
			VCVTPS2PD(p.AsY(), p)
			VADDPD(m, p, p)
		}
	default:
		for i, p := range p {
			VMULPD(s, k.doubles[i], p)
		}
	}
	InSingles(p, x)
	k.rounded(x)
}
