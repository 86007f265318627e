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
				codebookKernel(high, o, t, 32)
				if !Targets[t].Wide || Targets[t].Narrow || o.name == "Affine" { // else longer chunks are not faster
					codebookKernel(high, o, t, 64)
				}
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

	two, single Place // the loop of two runs at once, and that of one
}

// setCodebook copies the codebook at base and looks at its bounds.
func (c *codebook) setCodebook(base Register) {
	c.v = c.arrange(Mem{Base: base}, AllocLocal(64))
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

func codebookKernel(high bool, o op, t int, elems int) {
	name := map[bool]string{false: "codebookLow", true: "codebookHigh"}[high] + o.name + map[int]string{32: "32", 64: "64"}[elems]
	c := &codebook{o: o}
	products := Targets[t] == ToF32 && elems == 32 // a table for so few costs more than to multiply
	twos := Targets[t] == ToBF16 && elems == 32 && o.name == "Scale"
	runKernel(fmt.Sprintf("nibbles[%%s][%d][%s][%d]", map[bool]int{true: 1}[high], o.name, elems/64), name, o.formula("codebook[q]"), ", codebook *float32", "decodes n runs of chunks of that many nibbles.", t, o.negated, elems/2, elems,
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
			if twos {
				c.two, c.single = NewLabel("two"), NewLabel("single")
				CMPQ(k.chunks, Imm(1))
				JEQ(c.two.Ref())
				c.single.Here()
			}
			if !products {
				c.build()
			} else {
				c.p = pair{YMM(), YMM()}
				k.ifHostile(o, c.least, c.exact)
				k.numbersInto(o, c.p)
				k.rare = func() { c.exactRun(high) }
			}
			if build := k.rare; twos {
				k.rare = func() {
					build()
					c.twoRuns(high)
				}
			}
		},
		func(k *runs) {
			if products {
				c.multiply(k.nibblePairs(high, elems)[0])
				return
			}
			for i, codes := range k.nibblePairs(high, elems) {
				k.lookup(32*i, codes, c.table)
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
	c.lookup(0, c.nibblePairs(high, 32)[0], c.table)
	c.again(chunk)
	carry(c.table, c.planes(Load32(c.v.a), Load32(c.v.b)))
	JMP(c.done.Ref())
}

// twoRuns decodes runs of one chunk by twos: the tables of two scales are made at once,
// as those of blocks are. The last run of an odd number, and two of which one is not
// ordinary, are left to the loop for single ones.
func (c *codebook) twoRuns(high bool) {
	k := c.runs
	c.two.Here()
	CMPQ(k.n, Imm(2))
	JCS(c.single.Ref())
	for i := range 2 {
		ifBelow(Mem{Base: k.a, Disp: 4 * i}, c.least, c.single)
	}
	d := Into(YMM(), VBROADCASTSS, Mem{Base: k.a})
	second := Into(YMM(), VBROADCASTSS, Mem{Base: k.a, Disp: 4})
	VPBLENDD(Imm(0xF0), second, d, d)
	flipSign(d)
	var parted [2]VecVirtual
	for i := range parted {
		even := Into(YMM(), VBROADCASTI128, c.v.a.Offset(16*i))
		odd := Into(YMM(), VBROADCASTI128, c.v.b.Offset(16*i))
		for _, x := range [2]VecVirtual{even, odd} {
			VMULPS(d, x, x)
			k.nearest(x)
		}
		parted[i] = pack(even, odd)
	}
	l := splitTwice(parted)
	low, up := k.nibblesTwice(Load32(k.from(0)))
	if high {
		low, up = up, low
	}
	for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		codes := YMM()
		unpack(up, low, codes)
		k.lookupTwice(16*i, 32+16*i, codes, l)
	}
	ADDQ(Imm(8), k.a)
	ADDQ(Imm(8), k.b)
	ADDQ(Imm(32), k.src)
	ADDQ(Imm(64*2), k.dst)
	SUBQ(Imm(2), k.n)
	JNZ(c.two.Ref())
	JMP(k.end.Ref())
}

// arrange copies a codebook in the order of tables.
func (k *runs) arrange(codebook, to Mem) values {
	a, b := Load32(codebook), Load32(codebook.Offset(32))
	canonical(a)
	canonical(b)
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

// nibblePairs unpacks bytes of two elements each, which follow each other.
func (k *runs) nibblePairs(high bool, elems int) (out []VecVirtual) {
	low := k.shared["low"]
	if elems == 32 {
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
		VPAND(low, codes, codes)
		return []VecVirtual{codes}
	}
	// Dwords in the order of which the halves interleave to two registers of
	// codes in their order.
	first, second := fours(), YMM()
	if k.float32() { // pairs of bytes, for fours
		VMOVDQU(k.from(0), first)
		VPSHUFB(Bytes32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15), first, first)
		VPERMQ(Imm(quads), first, first)
	} else {
		codes := Load32(k.from(0))
		VPERMD(codes, first, first)
	}
	VPSRLW(Imm(4), first, second)
	VPAND(low, first, first)
	VPAND(low, second, second)
	if high {
		first, second = second, first
	}
	a := Into(YMM(), VPUNPCKLBW, second, first)
	b := Into(YMM(), VPUNPCKHBW, second, first)
	return []VecVirtual{a, b}
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
