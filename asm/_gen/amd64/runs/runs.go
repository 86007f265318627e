// Package runs is codes in runs under a scale, in registers of 64 bytes: nibbles of a codebook, bytes,
// and small floats. The level below decodes runs of the latter two that are not ordinary. Casts are numbers without a scale.
package runs

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes the kernels.
func AVX512() {
	for _, t := range Targets {
		for _, j := range Joins {
			codebookKernel(j, t)
			if j != JoinScale || t != ToF32 { // where registers of 32 bytes are as fast
				bytesKernel(j, t)
			}
		}
		if t != ToF32 {
			bytesKernel(JoinTwice, t)
		}
		float8Kernel(t)
		for _, from := range Targets {
			cast(from, t)
		}
	}
	same()
}

// A kernel looks at the numbers of sixteen runs at once. In front of those of which one is not ordinary it stops, and says
// how many runs are left, unless it has a way for them.
type kernel struct {
	*Kernel
	Join
	a, b, runs, chunks Register
	run, exact         func() // make the table or the numbers of a run that is ordinary, and of any if not nil,
	loop               func() // and decodes it
}

// group is how many runs are looked at together.
const group = 16

// write writes the kernel; before sets what all runs have in common.
func (k *kernel) write(name, number, params, doc string, t Target, before func()) {
	k.Kernel = Begin(name, t, ", a *float32, b *float32"+params+", chunks int, n int", " (left int)", doc+", and says how many are left when it stops, in front of sixteen of which one is not ordinary.",
		"For each of sixteen runs, with its scale a[r] and zero point or minimum b[r]:", number+";", "dst = x, rounded to "+t.Name+".")
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	n, most := Load(Param("n"), GP64()), GP64()
	k.runs, k.chunks = GP64(), GP64()
	MOVQ(U32(group), most)
	before()
	groups, odd, stop := NewLabel("group"), NewLabel("odd"), NewLabel("stop")
	groups.Here()
	Comment("Sixteen runs, or what is left.")
	MOVQ(n, k.runs)
	CMPQ(k.runs, most)
	CMOVQGT(most, k.runs)
	runs := func(run func()) {
		SUBQ(k.runs, n)
		Repeat("run", k.runs, func() {
			Comment("The numbers of a run, or its table.")
			Load(Param("chunks"), k.chunks)
			run()
			k.loop()
			ADDQ(Imm(4), k.a)
			ADDQ(Imm(4), k.b)
		})
		TESTQ(n, n)
		JNZ(groups.Ref())
	}
	k.look(odd)
	runs(k.run)
	if k.exact != nil {
		JMP(stop.Ref())
		odd.Here()
		runs(k.exact)
		stop.Here()
	} else {
		odd.Here()
	}
	Store(n, ReturnIndex(0))
	End()
}

// join makes x of numbers and those of a run, by instructions that subtract, multiply and add them.
func (k *kernel) join(x, from VecVirtual, a, b Op, subtract, multiply, add func(...Op)) {
	if k.Join == JoinShift {
		subtract(b, from, x)
		from = x
	}
	multiply(a, from, x)
	if k.Join == JoinAffine {
		add(b, x, x)
	}
}

// Exponents of ordinary numbers, from the least to below the most: of scales, and of zero points or minima.
// With those, numbers are zero or from 2^-123 to below 2^112.
var (
	ordinaryScale = [2]int{-80, 80}
	ordinaryOther = map[Join][2]int{JoinShift: {-20, 31}, JoinAffine: {-100, 100}}
)

// look leaves for stop unless the numbers of the runs are ordinary. Zero is no ordinary scale, since
// rounding does not keep its sign, and minus zero no ordinary minimum.
func (k *kernel) look(stop Place) {
	every, bits := K(), Into(GP32(), MOVL, U32(1<<group-1))
	BZHIL(k.runs.(GPVirtual).As32(), bits, bits)
	KMOVW(bits, every)
	outside := func(at Register, exponents [2]int, signed bool, some OpmaskVirtual) OpmaskVirtual {
		x, mag := Into(ZMM(), VMOVDQU32_Z, Mem{Base: at}, every), ZMM()
		VPANDD_BCST(Dwords(0x7FFFFFFF), x, mag)
		if some == nil { // zero is ordinary
			if some = K(); !signed {
				x = mag
			}
			VPTESTMD(x, x, some)
		}
		VPSUBD_BCST(Dwords(uint32(127+exponents[0])<<23), mag, mag)
		return Into(K(), VPCMPUD_BCST, Imm(5), Dwords(uint32(exponents[1]-exponents[0])<<23), mag, some) // not less
	}
	odd := outside(k.a, ordinaryScale, false, every)
	if r, ok := ordinaryOther[k.Join]; ok {
		other := outside(k.b, r, k.Join == JoinAffine, nil)
		KORW(other, odd, odd)
	}
	KORTESTW(odd, odd)
	JNZ(stop.Ref())
}

// A codebook is nibbles, two of a byte following each other, that stand for sixteen numbers: zero,
// or from 2^-20 to 2^31. The order says which is the first: the places, in bits, where bytes of
// indices are cut out of eight bytes. What the numbers come to is rounded once for each run.
type codebook struct {
	kernel
	numbers, order VecVirtual
	upper, some    OpmaskVirtual // qwords of the second eight bytes; numbers that are not zero
	code, part     VecVirtual    // the bits of an index that are a code's, and which byte of a number it is for
	times, less    VecVirtual    // 65536 and 65535, which round
}

func codebookKernel(j Join, t Target) {
	c := &codebook{kernel: kernel{Join: j}}
	for high := range 2 {
		if high == 0 || j == JoinScale { // nobody stores others
			row := fmt.Sprintf("nibbles[%s][%d][%s]", t.Name, high, j)
			Entry(fmt.Sprintf("nibblesAbove(%s, %d, codebook%s%sAVX512, o.%s)", t.Name, high, j, t.Name, row), "%s", row)
		}
	}
	table := ZMM()
	c.run, c.exact = func() { c.table(table) }, func() { c.exactTable(table) }
	c.loop = func() {
		Repeat("chunk", c.chunks, func() {
			c.lookup(table)
			c.Advance(16, 32)
		})
	}
	c.write("codebook"+string(j), "table[q] = "+j.Formula("codebook[q]")+", rounded; x = table[q] for each nibble q", ", codebook *float32, order *byte", "decodes up to n runs of chunks of 32 nibbles", t, c.before)
}

func (c *codebook) before() {
	c.numbers = Load64(Mem{Base: Load(Param("codebook"), GP64())})
	c.order = Load64(Mem{Base: Load(Param("order"), GP64())})
	c.upper, c.some = MaskOf(0xF0), K()
	mag := Into(ZMM(), VPANDD_BCST, Dwords(0x7FFFFFFF), c.numbers)
	VPTESTMD(mag, mag, c.some)
	if c.Narrow {
		c.code, c.part = All(0x1E1E1E1E), All(0x01000100)
	} else { // words are the upper ones of dwords
		c.code, c.part = All(0x3C3C3C3C), All(0x03020302)
	}
	c.times, c.less = Single(Floats(65536)), Single(Floats(65535))
}

// lookup writes what the table has for 32 codes. The upper four qwords of a register are cut
// out of the second eight bytes.
func (c *codebook) lookup(table VecVirtual) {
	if !c.Words() {
		for i := range 2 {
			x := Into(ZMM(), VPMULTISHIFTQB_BCST, c.From(8*i), c.order)
			VPERMD(table, x, x)
			VMOVDQU64(x, c.To(16*i))
		}
		return
	}
	x := Into(ZMM(), VPBROADCASTQ, c.From(0))
	VPBROADCASTQ(c.From(8), c.upper, x)
	VPMULTISHIFTQB(x, c.order, x)
	VPTERNLOGD(Imm(AndOr), c.part, c.code, x)
	c.Placed(0, x, Table{table})
}

// exactTable is that under any scale, by products in double precision.
func (c *codebook) exactTable(x VecVirtual) {
	from, at, scale := c.numbers, c.Local(64), Into(YMM(), VBROADCASTSS, Mem{Base: c.a})
	if c.Join == JoinShift {
		from = Into(ZMM(), VSUBPS_BCST, Mem{Base: c.b}, from)
	}
	VMOVUPS(from, at)
	times := Into(ZMM(), VCVTPS2PD, scale)
	Wide.Doubled(at, func(int) Op { return times }, x)
	if c.Join == JoinAffine {
		VADDPS_BCST(Mem{Base: c.b}, x, x)
	}
	if Quieted(x); c.Narrow {
		VCVTPS2PH(Imm(0), x, x.AsY())
	} else if !c.Wide {
		Rounded(x)
	}
}

// table is what the codebook comes to in a run: dwords, to BF16 their upper halves, to F16 words.
func (c *codebook) table(x VecVirtual) {
	c.join(x, c.numbers, Mem{Base: c.a}, Mem{Base: c.b}, VSUBPS_BCST, VMULPS_BCST, VADDPS_BCST)
	switch {
	case c.Narrow:
		VCVTPS2PH(Imm(0), x, x.AsY())
	case c.Wide:
	case c.Join == JoinShift: // any may be zero
		Rounded(x)
	default: // x*65536 - x*65535 is x rounded to 8 bits; zeros keep their sign
		less := Into(ZMM(), VMULPS, c.less, x)
		if c.Join == JoinScale {
			VFMSUB132PS(c.times, less, c.some, x)
		} else {
			VFMSUB132PS(c.times, less, x)
		}
	}
}
