package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// codebookKernels is nibbles that a codebook of sixteen numbers explains.
func codebookKernels() {
	for _, high := range []bool{false, true} {
		for _, o := range ops {
			if high && o.name != "Scale" {
				continue // nobody stores those
			}
			for t := range Targets {
				codebookKernel(high, o, t)
			}
		}
	}
}

// A codebook is the sixteen numbers that codes stand for, and what a run makes of them.
type codebook struct {
	*runs
	o     op
	v     values
	least Register // see [leastForCodebook]
	p     pair
	table tables16 // of the run's sixteen numbers
}

// setCodebook copies the codebook at base and looks at its bounds.
func (c *codebook) setCodebook(base Register) {
	a, b := Load32(Mem{Base: base}), Load32(Mem{Base: base, Disp: 32})
	canonical(a)
	canonical(b)
	c.v = c.arrange(a, b, AllocLocal(64))
	c.declare("low", func(y VecVirtual) { VMOVDQU(Bytes32(0x0F), y) })
	c.least = leastForCodebook(Load32(c.v.a), Load32(c.v.b))
}

// build makes the table of a run; an exact one is made behind the loops.
func (c *codebook) build() {
	c.p = pair{YMM(), YMM()}
	c.ifHostile(c.o, c.least, c.exact)
	c.numbersInto(c.o, c.p)
	c.table = c.table16(c.v, c.o.negated, func(x VecVirtual) { c.o.join(c.p, x) })
	c.rare = func() {
		c.buildExactly()
		JMP(c.chunk.Ref())
	}
}

func (c *codebook) buildExactly() {
	c.exact.Here()
	Comment("A run that is not ordinary.")
	c.exactNumbers(c.o, c.p)
	carry(c.table, c.table16(c.v, c.o.negated, func(x VecVirtual) { c.o.exactly(c.p, x) }))
}

func codebookKernel(high bool, o op, t int) {
	name := map[bool]string{false: "codebookLow", true: "codebookHigh"}[high] + o.name
	c := &codebook{o: o}
	products := Targets[t] == ToF32 // a table of four bytes a number costs more than to multiply
	runKernel(fmt.Sprintf("nibbles[%%s][%d][%s]", map[bool]int{true: 1}[high], o.name), name, o.formula("codebook[q]"), ", codebook *float32", "decodes n runs of chunks of 32 nibbles.", t, o.negated, 16, 32,
		func(k *runs) {
			c.runs = k
			if o.name == "Scale" || !k.Wide { // there is a register left
				k.minus = Load32(k.minus.(Mem))
			}
			c.setCodebook(Load(Param("codebook"), GP64()).(Register))
			if products {
				c.table = k.planes(Load32(c.v.a), Load32(c.v.b))
			}
		},
		func(k *runs) {
			if !products {
				c.build()
				return
			}
			c.p = pair{YMM(), YMM()}
			k.ifHostile(o, c.least, c.exact)
			k.numbersInto(o, c.p)
			k.rare = func() { c.exactRun(high) }
		},
		func(k *runs) {
			if codes := k.nibblePairs(high); products {
				c.multiply(codes)
			} else {
				k.lookup(0, codes, c.table)
			}
		})
}

// multiply writes 32 numbers to F32: each is found in the codebook by its four bytes,
// and then joined with the numbers of its run.
func (c *codebook) multiply(codes VecVirtual) {
	for i, x := range c.numbersAt(codes, c.table) {
		c.o.join(c.p, x)
		c.settle(x, c.o.negated)
		VMOVUPS(x, c.to(8*i))
	}
}

// exactRun writes a run by a table, which replaces the codebook's until its end.
func (c *codebook) exactRun(high bool) {
	c.buildExactly()
	chunk := NewLabel("exactChunk")
	chunk.Here()
	c.lookup(0, c.nibblePairs(high), c.table)
	c.again(chunk)
	carry(c.table, c.planes(Load32(c.v.a), Load32(c.v.b)))
	JMP(c.done.Ref())
}

// arrange keeps sixteen numbers in the order of tables.
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

// nibblePairs unpacks 16 bytes of two elements each, which follow each other.
func (k *runs) nibblePairs(high bool) VecVirtual {
	codes, shifted := YMM(), YMM()
	VBROADCASTI128(k.from(0), codes)
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

// halfBytesKernels is a codebook of sixteen numbers over one nibble of each byte:
// the upper one where shift is 4.
func halfBytesKernels() {
	for t := range Targets {
		c := &codebook{o: ops[1]}
		shift := XMM()
		runKernel("halfBytes[%s]", "halfBytesShift", ops[1].formula("codebook[q>>shift&15]"), ", codebook *float32, shift *uint64", "decodes n runs of chunks of 32 bytes, a nibble of each.", t, true, 32, 32,
			func(k *runs) {
				c.runs = k
				c.setCodebook(Load(Param("codebook"), GP64()).(Register))
				VMOVQ(Mem{Base: Load(Param("shift"), GP64())}, shift)
			},
			func(*runs) { c.build() },
			func(k *runs) {
				codes := YMM()
				if k.float32() {
					VMOVDQU(k.from(0), codes)
					VPERMD(codes, fours(), codes)
				} else {
					k.spreadQuads(k.from(0), codes)
				}
				VPSRLW(shift, codes, codes)
				VPAND(k.shared["low"], codes, codes)
				k.lookup(0, codes, c.table)
			})
	}
}
