// Package runs is casts: numbers without a scale, in registers of 64 bytes.
package runs

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes the kernels.
func AVX512() { casts() }

// casts converts between the types of numbers, 32 at a time.
func casts() {
	for _, from := range Targets {
		for _, to := range Targets {
			if from != to && to != ToF32 {
				cast(from, to)
			}
		}
	}
	same()
}

func cast(from, to Target) {
	Entry("cast"+from.Name+"To"+to.Name+"AVX512", "cast[%s][%s]", from.Name, to.Name)
	z := Begin("cast"+from.Name+"To", to, ", n int", "", "converts 32 numbers n times.",
		"For 32 numbers:", "x = src as float32, a NaN as 7FC00000;", "dst = x, rounded to "+to.Name+".")
	n := Load(Param("n"), GP64())
	Repeat("more", n, func() {
		x := [2]VecVirtual{ZMM(), ZMM()}
		for i, x := range x {
			from.Widen(z.From(16*i*from.Width()), x)
			Quieted(x)
		}
		z.Put(0, x[0], x[1])
		z.Advance(32*from.Width(), 32)
	})
	End()
}

// same copies words but for those whose magnitude is above infinity's:
// they become the one NaN.
func same() {
	Entry("with(castSameAVX512, &[2]uint16{0x7F80, 0x7FC0})", "cast[BF16][BF16]")
	Entry("with(castSameAVX512, &[2]uint16{0x7C00, 0x7E00})", "cast[F16][F16]")
	z := &Ends{Target: ToBF16}
	z.Dst, z.Src = Between("castSameAVX512", ", special *[2]uint16, n int", "copies 32 words n times, each above the first special one as the second.",
		"For 32 words:", "dst = src,", "or special[1] where the magnitude is above special[0].")
	special := Mem{Base: Load(Param("special"), GP64())}
	infinity := Into(ZMM(), VPBROADCASTW, special)
	nan := Into(ZMM(), VPBROADCASTW, special.Offset(2))
	n := Load(Param("n"), GP64())
	magnitude := All(0x7FFF7FFF)
	Repeat("more", n, func() {
		x, m, above := Load64(z.From(0)), ZMM(), K()
		VPANDD(magnitude, x, m)
		VPCMPUW(Imm(6), infinity, m, above)
		VMOVDQU16(nan, above, x)
		VMOVDQU16(x, z.To(0))
		z.Advance(64, 32)
	})
	End()
}
