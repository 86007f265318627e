package main

import "strings"

// Constants of every kernel.
const (
	one      = 31 // 1 in dwords
	half     = 30 // 7FFF in dwords
	nan      = 29 // 7FC00000
	low      = 28 // 0F in bytes
	codebook = 27 // sixteen signed bytes
	three    = 26 // 03 in bytes
	minus32  = 25 // 32 in bytes, to be taken off
)

func (g *gen) constants() {
	g.set(one, "S4", 1)
	g.set(half, "S4", 0x7FFF)
	g.set(nan, "S4", 0x7FC00000)
	g.set(low, "B16", 0x0F)
}

// A layout is a block type; block decodes one block from R1 to R0 and advances both. What
// a kernel takes before the count is in R8.
type layout struct {
	name  string
	does  []string // what a block holds, and its numbers
	takes string
	bytes string // as an operand
	set   func(g *gen)
	block func(g *gen)
}

func blockKernels(g *gen) {
	for _, l := range []layout{
		{"q8_0", []string{"For each block: d float16, 32 signed bytes q:", "x = d*q;", "dst = x, rounded to BF16."}, "", "$34", nil, q8},
		{"codebook", []string{"For each block: Q4_0, IQ4_NL: d float16, 16 bytes of nibbles q: the low ones, then the high ones:", "x = d*codebook[q];", "dst = x, rounded to BF16."}, "codebook *int8, ", "$18", takeCodebook, nibbleBlock(2, (*gen).halfScale)},
		{"mxfp4", []string{"For each block: a scale s of eight bits, 16 bytes of nibbles q:", "x = mxfp4Scales[s]*codebook[q];", "dst = x, rounded to BF16."}, "", "$17", fp4Codebook, nibbleBlock(1, (*gen).listedScale)},
		{"q4_K", []string{"For each block: d, m float16; eight pairs s, t of six bits; 128 bytes of nibbles q:", "x = (d*s)*q - m*t for 32 numbers each;", "dst = x, rounded to BF16."}, "", "$144", nil, q4K},
		{"q6_K", []string{"For each block: 128 bytes of nibbles q; 64 bytes of two bits h; 16 signed bytes s; d float16:", "x = d*s * (q + 16*h - 32) for 16 numbers each;", "dst = x, rounded to BF16."}, "", "$210", func(g *gen) { g.set(three, "B16", 3); g.set(minus32, "B16", 32) }, q6K},
	} {
		at := 16
		if l.takes != "" {
			at = 24
		}
		g.text(l.name+"BF16NEON", "dst *byte, src *byte, "+l.takes+"n int", at+8, l.does...)
		g.op("MOVD dst+0(FP), R0")
		g.op("MOVD src+8(FP), R1")
		if name, _, takes := strings.Cut(l.takes, " "); takes {
			g.op("MOVD %s+16(FP), R8", name)
		}
		g.op("MOVD n+%d(FP), R2", at)
		g.constants()
		if l.set != nil {
			l.set(g)
		}
		g.repeat("block", "R2", func() {
			g.comment("A block.")
			l.block(g)
			g.op("ADD %s, R1", l.bytes)
		})
		g.op("RET")
	}
}

// nearest rounds four numbers in their upper halves; it needs V18.
func (g *gen) nearest(v int) {
	g.op("VUSHR $16, V%d.S4, V18.S4", v)
	g.op("VAND V%d.B16, V18.B16, V18.B16", one)
	g.op("VADD V%d.S4, V%d.S4, V%d.S4", half, v, v)
	g.op("VADD V18.S4, V%d.S4, V%d.S4", v, v)
}

// quieted replaces every NaN of four numbers by 7FC00000; it needs V18.
func (g *gen) quieted(v int) {
	g.fcmeq(18, v, v)
	g.bif(v, nan, 18)
}

// write writes sixteen numbers of V4 to V7, rounded.
func (g *gen) write() {
	for v := 4; v < 8; v++ {
		g.nearest(v)
	}
	g.shrn16(1, 4)
	g.shrn2x16(1, 5)
	g.shrn16(2, 6)
	g.shrn2x16(2, 7)
	g.op("VST1.P [V1.B16, V2.B16], 32(R0)")
}

// widen converts the sixteen signed codes in V0 to V4 to V7.
func (g *gen) widen() {
	g.sxtlB(1, 0)
	g.sxtl2B(2, 0)
	g.sxtlH(4, 1)
	g.sxtl2H(5, 1)
	g.sxtlH(6, 2)
	g.sxtl2H(7, 2)
	for v := 4; v < 8; v++ {
		g.scvtf(v, v)
	}
}

// scaled writes sixteen signed codes in V0 times the scale in V16.
func (g *gen) scaled() {
	g.widen()
	for v := 4; v < 8; v++ {
		g.fmul(v, v, 16)
	}
	g.write()
}

// load loads sixteen bytes at an offset of the source into V0 or another register.
func (g *gen) load(v, off int) {
	g.op("ADD $%d, R1, R4", off)
	g.op("VLD1 (R4), [V%d.B16]", v)
}

// float16 loads the float16 at off into all lanes.
func (g *gen) float16(v, off int) {
	g.op("MOVHU %d(R1), R3", off)
	g.op("VDUP R3, V%d.H4", v)
	g.fcvtl(v, v)
	g.quieted(v)
}

func (g *gen) halfScale() { g.float16(16, 0) }

func (g *gen) listedScale() {
	g.op("MOVD $·mxfp4Scales(SB), R4")
	g.op("MOVBU (R1), R3")
	g.op("MOVWU (R4)(R3<<2), R3")
	g.op("VDUP R3, V16.S4")
}

// q8 decodes a float16 and 32 signed bytes.
func q8(g *gen) {
	g.halfScale()
	g.op("ADD $2, R1, R4")
	for range 2 {
		g.op("VLD1.P 16(R4), [V0.B16]")
		g.scaled()
	}
}

func takeCodebook(g *gen) { g.op("VLD1 (R8), [V%d.B16]", codebook) }

// fp4Codebook loads twice the values of FP4: 0, 1, 2, 3, 4, 6, 8, 12, and their negatives.
func fp4Codebook(g *gen) {
	for i, w := range []uint64{0x0C08060403020100, 0xF4F8FAFCFDFEFF00} {
		g.op("MOVD $%#x, R3", w)
		g.op("VMOV R3, V%d.D[%d]", codebook, i)
	}
}

func nibbleBlock(off int, scale func(*gen)) func(*gen) {
	return func(g *gen) {
		scale(g)
		g.load(3, off)
		for i := range 2 {
			if i == 0 {
				g.op("VAND V%d.B16, V3.B16, V0.B16", low)
			} else {
				g.op("VUSHR $4, V3.B16, V0.B16")
			}
			g.op("VTBL V0.B16, [V%d.B16], V0.B16", codebook)
			g.scaled()
		}
	}
}

// numbers8 converts the eight bytes in a register of words to numbers times V17, four in v
// and four in v+1.
func (g *gen) numbers8(v int) {
	g.sxtl2H(v+1, v)
	g.sxtlH(v, v)
	for i := v; i < v+2; i++ {
		g.scvtf(i, i)
		g.fmul(i, i, 17)
		g.quieted(i)
	}
}

// q4K decodes eight pairs of 6-bit scale and minimum in 12 bytes, unpacked as the scalar
// function does; q*d - m, with two roundings.
func q4K(g *gen) {
	for i, v := range []int{20, 22} {
		g.op("MOVWU %d(R1), R5", 4+4*i)
		g.op("LSR $2, R5, R6")
		g.op("AND $0x30303030, R6, R6")
		g.op("MOVWU 12(R1), R7")
		if i == 1 {
			g.op("LSR $4, R7, R7")
		}
		g.op("AND $0x0F0F0F0F, R7, R7")
		g.op("ORR R7, R6, R6")
		g.op("AND $0x3F3F3F3F, R5, R5")
		g.op("ORR R6<<32, R5, R5")
		g.op("VMOV R5, V%d.D[0]", v)
		g.sxtlB(v, v)
		g.float16(17, 2*i)
		g.numbers8(v)
	}
	g.op("ADD $16, R1, R9")
	g.loop("codes", 4, func() { // of 32 bytes the low nibbles are a group, and the high ones another
		g.op("VLD1.P 32(R9), [V24.B16, V25.B16]")
		for i := range 2 {
			g.op("VDUP V20.S[%d], V16.S4", i)
			g.op("VDUP V22.S[%d], V17.S4", i)
			for h := range 2 {
				if i == 0 {
					g.op("VAND V%d.B16, V%d.B16, V0.B16", low, 24+h)
				} else {
					g.op("VUSHR $4, V%d.B16, V0.B16", 24+h)
				}
				g.widen()
				for v := 4; v < 8; v++ {
					g.fmul(v, v, 16)
					g.fsub(v, v, 17)
				}
				g.write()
			}
		}
		g.pass(20, 21)
		g.pass(22, 23)
	})
}

// loop repeats what body writes, with its counter in R10.
func (g *gen) loop(name string, times int, body func()) {
	g.op("MOVD $%d, R10", times)
	g.repeat(name, "R10", body)
}

// pass removes the first two numbers from a row of them in consecutive registers.
func (g *gen) pass(first, last int) {
	for v := first; v <= last; v++ {
		g.op("VEXT $8, V%d.B16, V%d.B16, V%d.B16", min(v+1, last), v, v)
	}
}

func q6K(g *gen) {
	g.float16(17, 208)
	g.load(0, 192)
	g.sxtlB(20, 0)
	g.sxtl2B(22, 0)
	g.numbers8(20)
	g.numbers8(22)
	g.op("MOVD R1, R9")
	g.op("ADD $128, R1, R11")
	g.loop("rounds", 8, func() {
		// A half of the block is 64 bytes of nibbles and 32 of two bits: four rounds.
		g.op("TST $3, R10")
		ready := g.label("ready")
		g.op("BNE %s", ready)
		g.op("VLD1.P 64(R9), [V8.B16, V9.B16, V10.B16, V11.B16]")
		g.op("VLD1.P 32(R11), [V12.B16, V13.B16]")
		g.here(ready)
		for i := range 2 {
			g.op("VDUP V20.S[%d], V16.S4", i)
			g.op("VAND V%d.B16, V%d.B16, V0.B16", low, 8+i)
			g.op("VAND V%d.B16, V%d.B16, V3.B16", three, 12+i)
			g.op("VSHL $4, V3.B16, V3.B16")
			g.op("VORR V3.B16, V0.B16, V0.B16")
			g.op("VSUB V%d.B16, V0.B16, V0.B16", minus32)
			g.scaled()
			// The other nibbles come next, and then the high ones of these.
			g.op("VUSHR $4, V%d.B16, V14.B16", 8+i)
			g.op("VORR V%d.B16, V%d.B16, V%d.B16", 10+i, 10+i, 8+i)
			g.op("VORR V14.B16, V14.B16, V%d.B16", 10+i)
			g.op("VUSHR $2, V%d.B16, V%d.B16", 12+i, 12+i)
		}
		g.pass(20, 23)
	})
}
