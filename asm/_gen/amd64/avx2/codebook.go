package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// codebookKernels writes kernels for nibbles with a codebook of sixteen numbers: two per
// byte, or one nibble of each byte, the upper one if shift is 4.
func codebookKernels() {
	for _, high := range []bool{false, true} {
		for _, o := range Joins {
			if high && o != JoinScale {
				continue // nobody stores those
			}
			for t := range Targets {
				c := &codebook{o: o, codes: func(k *runs) VecVirtual { return k.nibblePairs(high) }}
				row := fmt.Sprintf("nibbles[%%s][%d][%s]", map[bool]int{true: 1}[high], string(o))
				c.kernel(row, map[bool]string{false: "codebookLow", true: "codebookHigh"}[high], "codebook[q]", "", "decodes n runs of chunks of 32 nibbles.", t, 16)
			}
		}
	}
	for t := range Targets {
		c := &codebook{o: JoinShift, codes: (*runs).halfBytes}
		c.kernel("halfBytes[%s]", "halfBytes", "codebook[q>>shift&15]", ", shift *uint64", "decodes n runs of chunks of 32 bytes, a nibble of each.", t, 32)
	}
}

// A codebook is the sixteen numbers of codes, and what a run makes of them.
type codebook struct {
	*runs
	o     Join
	codes func(*runs) VecVirtual // 32 of them
	v     values
	least Register // see [leastForCodebook]
	p     pair
	table tables16 // of the run's sixteen numbers
}

// setCodebook copies the codebook at base and checks its bounds.
func (c *codebook) setCodebook(base Register) {
	a, b := Load32(Mem{Base: base}), Load32(Mem{Base: base, Disp: 32})
	canonical(a)
	canonical(b)
	c.v = c.arrange(a, b, AllocLocal(64))
	c.declare("low", func(y VecVirtual) { VMOVDQU(Bytes32(0x0F), y) })
	c.least = leastForCodebook(Load32(c.v.a), Load32(c.v.b))
}

// build makes the table of a run; an exact one is made after the loops.
func (c *codebook) build() {
	c.p = pair{YMM(), YMM()}
	c.ifHostile(c.o, c.least, c.exact)
	c.numbersInto(c.o, c.p)
	c.table = c.table16(c.v, negates(c.o), func(x VecVirtual) { c.p.apply(c.o, x) })
	c.rare = func() {
		c.buildExactly()
		JMP(c.chunk.Ref())
	}
}

func (c *codebook) buildExactly() {
	c.exact.Here()
	Comment("A run that is not ordinary.")
	c.exactNumbers(c.o, c.p)
	carry(c.table, c.table16(c.v, negates(c.o), func(x VecVirtual) { c.p.exactly(c.o, x) }))
}

// kernel writes the loops. To F32, numbers are looked up in the codebook and multiplied,
// since a table of four bytes per number is slower.
func (c *codebook) kernel(row, name, number, params, doc string, t, in int) {
	runKernel(row, name+string(c.o), c.o.Formula(number), ", codebook *float32"+params, doc, t, negates(c.o), in, 32,
		func(k *runs) {
			c.runs = k
			if c.o == JoinScale || !k.Wide { // there is a register left
				k.minus = Load32(k.minus.(Mem))
			}
			c.setCodebook(Load(Param("codebook"), GP64()).(Register))
			if params != "" {
				k.shift = Into(XMM(), VMOVQ, Mem{Base: Load(Param("shift"), GP64())})
			}
			if k.float32() {
				c.table = k.planes(Load32(c.v.a), Load32(c.v.b))
			}
		},
		func(k *runs) {
			if !k.float32() {
				c.build()
				return
			}
			c.p = pair{YMM(), YMM()}
			k.ifHostile(c.o, c.least, c.exact)
			k.numbersInto(c.o, c.p)
			k.rare = c.exactRun
		},
		func(k *runs) {
			if codes := c.codes(k); k.float32() {
				c.multiply(codes)
			} else {
				k.lookup(0, codes, c.table)
			}
		})
}

// multiply writes 32 numbers to F32: each is looked up in the codebook by its four bytes,
// and joined with the numbers of its run.
func (c *codebook) multiply(codes VecVirtual) {
	for i, x := range c.numbersAt(codes, c.table) {
		c.p.apply(c.o, x)
		c.settle(x, negates(c.o))
		VMOVUPS(x, c.To(8*i))
	}
}

// exactRun writes a run with a table that replaces the codebook's until its end, or a run
// with a single small scale number by number.
func (c *codebook) exactRun() {
	if c.o == JoinScale {
		table := c.exact
		c.exact = NewLabel("exactTable")
		table.Here()
		CMPL(c.least, U32(leastScale-1))
		JNE(c.exact.Ref())
		Comment("A run whose scale is small.")
		small := c.smallScale()
		c.other(NewLabel("smallChunk"), func() {
			for i, x := range c.numbersAt(c.codes(c.runs), c.table) {
				small.of(x)
				VMOVUPS(x, c.To(8*i))
			}
		})
	}
	c.buildExactly()
	chunk := NewLabel("exactChunk")
	chunk.Here()
	c.lookup(0, c.codes(c.runs), c.table)
	c.again(chunk)
	carry(c.table, c.planes(Load32(c.v.a), Load32(c.v.b)))
	JMP(c.done.Ref())
}

// arrange stores sixteen numbers in the order of tables.
func (k *kernel) arrange(a, b VecVirtual, to Mem) values {
	if k.Wide {
		VMOVUPS(a, to)
		VMOVUPS(b, to.Offset(32))
	} else {
		even := Into(YMM(), VSHUFPS, Imm(0x88), b, a)
		VPERMQ(Imm(quads), even, even)
		VSHUFPS(Imm(0xDD), b, a, a)
		VPERMQ(Imm(quads), a, a)
		VMOVUPS(even, to)
		VMOVUPS(a, to.Offset(32))
	}
	return values{to, to.Offset(32)}
}

// nibblePairs unpacks 16 bytes of two consecutive elements each.
func (k *runs) nibblePairs(high bool) VecVirtual {
	codes, shifted := YMM(), YMM()
	VBROADCASTI128(k.From(0), codes)
	VPSHUFB(bytesToWords(k.float32()), codes, codes)
	if high {
		VPSLLW(Imm(8), codes, shifted)
		VPSRLW(Imm(4), codes, codes)
	} else {
		VPSLLW(Imm(4), codes, shifted)
	}
	VPOR(shifted, codes, codes)
	VPAND(k.shared["low"], codes, codes)
	return codes
}

// bytesToWords widens bytes of two elements each, in the order of quads or of fours.
func bytesToWords(fours bool) Mem {
	first := [2][]byte{{0, 8}, {4, 12}} // of each eight elements of a half
	step := byte(4)
	if fours {
		first, step = [2][]byte{{0, 4, 8, 12}, {2, 6, 10, 14}}, 2
	}
	var order []byte
	for _, half := range first {
		for _, at := range half {
			for i := range step {
				order = append(order, at+i, 0x80)
			}
		}
	}
	return Data(order)
}

// halfBytes returns a nibble of each of 32 bytes.
func (k *runs) halfBytes() VecVirtual {
	codes := YMM()
	if k.float32() {
		VMOVDQU(k.From(0), codes)
		VPERMD(codes, fours(), codes)
	} else {
		k.spreadQuads(k.From(0), codes)
	}
	VPSRLW(k.shift, codes, codes)
	VPAND(k.shared["low"], codes, codes)
	return codes
}

// A pairLoop decodes nibbles of a codebook in runs of sixteen, the low one first: chunks
// of two runs.
type pairLoop struct {
	codebook
	d      [2]VecVirtual // the scales, negated
	tables [2]tables16   // but to F32
	x      [4]VecVirtual // the numbers, to F32
	write  Place         // where numbers are written
}

func pairKernel(t int) {
	p := &pairLoop{codebook: codebook{o: JoinScale, codes: func(k *runs) VecVirtual { return k.nibblePairs(false) }}}
	runKernel("pairs[%s][0]", "codebookPairs", JoinScale.Formula("codebook[q]"), ", codebook *float32", "decodes n pairs of runs of 16 nibbles; there is one chunk.", t, true, 16, 32,
		func(k *runs) {
			p.runs, p.write = k, NewLabel("write")
			p.setCodebook(Load(Param("codebook"), GP64()).(Register))
			if k.float32() {
				p.table = k.planes(Load32(p.v.a), Load32(p.v.b))
			}
			k.rare = p.exactPair
		},
		func(*runs) {},
		func(*runs) {
			for i := range p.d {
				ifBelow(Mem{Base: p.a, Disp: 4 * i}, p.least, p.exact)
			}
			p.d = p.negatedPair()
			p.numbers(func(i int, x VecVirtual) { VMULPS(p.d[i], x, x) })
			p.write.Here()
			if p.float32() {
				for i, x := range p.x {
					VMOVUPS(x, p.To(8*i))
				}
			} else {
				p.lookupTwo(0, p.codes(p.runs), p.tables[0], p.tables[1])
			}
			ADDQ(Imm(4), p.a)
		})
}

// negatedPair returns both scales, negated.
func (p *pairLoop) negatedPair() [2]VecVirtual {
	both := Into(YMM(), VPBROADCASTQ, Mem{Base: p.a})
	flipSign(both)
	return [2]VecVirtual{firsts(both), seconds(both)}
}

// numbers computes the numbers of both runs, or their tables; join multiplies by the scale
// of run i.
func (p *pairLoop) numbers(join func(i int, x VecVirtual)) {
	if p.float32() {
		x := [4]VecVirtual(p.numbersAt(p.codes(p.runs), p.table))
		for i, y := range x {
			join(i/2, y)
			p.settle(y, true)
		}
		if p.x[0] == nil {
			p.x = x
		} else {
			carry(p.x[:], x[:])
		}
		return
	}
	for i := range p.d {
		l := p.table16(p.v, true, func(x VecVirtual) { join(i, x) })
		if p.tables[i] == nil {
			p.tables[i] = l
		} else {
			carry(p.tables[i], l)
		}
	}
}

// exactPair decodes two runs of which one is not ordinary.
func (p *pairLoop) exactPair() {
	p.exact.Here()
	Comment("A run that is not ordinary.")
	d := p.negatedPair()
	for _, x := range d {
		VCVTPS2PD(x.AsX(), x)
	}
	p.numbers(func(i int, x VecVirtual) { pair{d: d[i]}.exactly(p.o, x) })
	JMP(p.write.Ref())
}
