package main

// runKernels writes kernels of scaled codes, in chunks of 32: bytes, small floats, and
// nibbles with a codebook.
func runKernels(g *gen) {
	run(g, "bytesScale", "x = q*a[r]", "a *float32, b *float32, flip *byte, last *float32", 32+16, func() {
		g.op("MOVD flip+32(FP), R9")
		g.op("MOVBU (R9), R3")
		g.op("VDUP R3, V24.B16")
	}, func() {
		g.op("MOVWU (R5), R3")
		g.op("VDUP R3, V16.S4")
		g.quieted(16)
	}, func() {
		for range 2 {
			g.op("VLD1.P 16(R1), [V0.B16]")
			g.op("VEOR V24.B16, V0.B16, V0.B16")
			g.scaled()
		}
	})
	for _, f := range []struct {
		name  string
		shift int
		up    uint32 // the float32 that a float16 of these bits is multiplied by
		top   int    // the magnitude that is NaN, or -1
	}{{"E4M3", 7, 0x43800000, 0x7F}, {"E5M2", 8, 0x3F800000, -1}} {
		run(g, "float8"+f.name, "x = q*a[r], of codes as float16, whose exponent differs by a power of two", "a *float32, b *float32", 32, func() {
			g.set(24, "S4", f.up)
			g.set(25, "H8", 0xBF80)
			g.set(26, "H8", 0x3F80)
		}, func() {
			g.op("MOVWU (R5), R3")
			g.op("VDUP R3, V16.S4")
		}, func() {
			for range 2 {
				g.op("VLD1.P 16(R1), [V0.B16]")
				g.sxtlB(1, 0)
				g.sxtl2B(2, 0)
				for _, v := range []int{1, 2} {
					g.op("VSHL $%d, V%d.H8, V%d.H8", f.shift, v, v)
					if f.top >= 0 {
						g.op("VAND V25.B16, V%d.B16, V%d.B16", v, v)
						g.op("VAND V26.B16, V%d.B16, V19.B16", v)
						g.op("VCMEQ V26.H8, V19.H8, V19.H8")
						g.op("VORR V19.B16, V%d.B16, V%d.B16", v, v)
					}
					g.fcvtl(2*v+2, v)
					g.fcvtl2(2*v+3, v)
				}
				for v := 4; v < 8; v++ {
					g.fmul(v, v, 24)
					g.fmul(v, v, 16)
					g.quieted(v)
				}
				g.write()
			}
		})
	}
	for _, high := range []bool{false, true} {
		name := map[bool]string{false: "codebookLowScale", true: "codebookHighScale"}[high]
		run(g, name, "x = table[q], table = codebook*a[r]", "a *float32, b *float32, codebook *float32", 40, func() {
			g.op("MOVD codebook+32(FP), R9")
		}, func() {
			g.op("VLD1 (R9), [V4.S4, V5.S4, V6.S4, V7.S4]")
			g.op("MOVWU (R5), R3")
			g.op("VDUP R3, V16.S4")
			for v := 4; v < 8; v++ {
				g.fmul(v, v, 16)
				g.quieted(v)
				g.nearest(v)
			}
			g.shrn16(1, 4)
			g.shrn2x16(1, 5)
			g.shrn16(2, 6)
			g.shrn2x16(2, 7)
			g.op("VUZP1 V2.B16, V1.B16, V20.B16")
			g.op("VUZP2 V2.B16, V1.B16, V21.B16")
		}, func() {
			g.op("VLD1.P 16(R1), [V3.B16]")
			g.op("VAND V%d.B16, V3.B16, V0.B16", low)
			g.op("VUSHR $4, V3.B16, V1.B16")
			first, second := 0, 1
			if high {
				first, second = 1, 0
			}
			g.op("VZIP1 V%d.B16, V%d.B16, V4.B16", second, first)
			g.op("VZIP2 V%d.B16, V%d.B16, V5.B16", second, first)
			for _, v := range []int{4, 5} {
				g.op("VTBL V%d.B16, [V20.B16], V6.B16", v)
				g.op("VTBL V%d.B16, [V21.B16], V7.B16", v)
				g.op("VZIP1 V7.B16, V6.B16, V1.B16")
				g.op("VZIP2 V7.B16, V6.B16, V2.B16")
				g.op("VST1.P [V1.B16, V2.B16], 32(R0)")
			}
		})
	}
}

// run writes the loops over n runs of some chunks; params precede the counts, which begin
// at the given offset of the frame.
func run(g *gen, name, how, params string, counts int, before, each, chunk func()) {
	g.text(name+"BF16NEON", "dst *byte, src *byte, "+params+", chunks int, n int", counts+16,
		"For each of n runs, with its scale a[r],", "for each of its chunks: "+how+";", "dst = x, rounded to BF16.")
	g.op("MOVD dst+0(FP), R0")
	g.op("MOVD src+8(FP), R1")
	g.op("MOVD a+16(FP), R5")
	g.op("MOVD chunks+%d(FP), R6", counts)
	g.op("MOVD n+%d(FP), R2", counts+8)
	g.constants()
	before()
	g.repeat("run", "R2", func() {
		g.comment("The numbers of a run.")
		each()
		g.op("MOVD R6, R7")
		g.repeat("chunk", "R7", func() {
			g.comment("A chunk of its codes.")
			chunk()
		})
		g.op("ADD $4, R5")
	})
	g.op("RET")
}
