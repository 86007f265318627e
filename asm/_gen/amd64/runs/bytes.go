package runs

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bytesKernel is codes of a byte. A mask and 80 make them unsigned, and they become numbers as the lowest
// bytes of 2^23; what is taken off makes them again what they were.
func bytesKernel(j Join, t Target) {
	k := &kernel{Join: j}
	row := fmt.Sprintf("bytes[%s][%s]", t.Name, j.Bytes())
	Entry(fmt.Sprintf("bytesAbove(%s, bytes%s%sAVX512, o.%s)", t.Name, j, t.Name, row), "%s", row)
	const origin = 1 << 23
	var flip, last, less, base VecVirtual
	var places [2]VecVirtual
	var lowest OpmaskVirtual
	scale, other := ZMM(), ZMM()
	k.run = func() {
		VPBROADCASTD(Mem{Base: k.a}, scale)
		VPBROADCASTD(Mem{Base: k.b}, other)
	}
	k.loop = func() {
		Repeat("chunk", k.chunks, func() {
			codes, x := Into(YMM(), VPXORD, k.From(0), flip), [2]VecVirtual{}
			for i := range x {
				x[i] = Into(ZMM(), VMOVAPS, base)
				VPERMB(codes.AsZ(), places[i], lowest, x[i])
				VSUBPS(less, x[i], x[i])
			}
			for _, x := range x {
				if k.join(x, x, scale, other, VSUBPS, VMULPS, VADDPS); j == JoinTwice {
					VMULPS(last, x, x)
				}
			}
			k.Put(0, x[0], x[1])
			k.Advance(32, 32)
		})
	}
	k.write("bytes"+string(j), "x = "+j.Formula("q")+" for each byte q, each step rounded to float32", ", flip *byte, last *float32", "decodes up to n runs of chunks of 32 bytes", t, func() {
		flip = Into(YMM(), VPBROADCASTB, Mem{Base: Load(Param("flip"), GP64())})
		VPXORD(Bytes32(0x80), flip, flip)
		base, less = Single(Floats(origin)), Single(Floats(origin+128))
		last = Single(Mem{Base: Load(Param("last"), GP64())})
		if j == JoinShift || j == JoinAffine {
			VSUBPS(last, less, less)
		}
		for i := range places {
			places[i] = DwordsOf(func(j int) int { return 16*i + j })
		}
		lowest = MaskOf(0x1111111111111111)
	})
}

// A float8 is small floats. Its form is what formats differ by: as the Go types float8Words and float8Mantissas
// have it.
type float8 struct {
	kernel
	form Mem
}

func float8Kernel(t Target) {
	f := &float8{kernel: kernel{Join: JoinScale}}
	number, before, forms := "x = q*a[r], each code q being a bfloat16 that is found by its bytes", f.byWords, "float8Words"
	if t == ToBF16 {
		number, before, forms = "x = table[q] for a mantissa q, rounded, and the exponent added; or another table's, if subnormal, infinite or NaN", f.byMantissas, "float8Mantissas"
	}
	for i, format := range []string{"E4M3", "E5M2", "E4M3FNUZ"} {
		if i == 2 && t != ToBF16 {
			continue // minus zero is no NaN of words
		}
		row := fmt.Sprintf("float8[%s][%s]", t.Name, format)
		Entry(fmt.Sprintf("float8Above(%s, float8%sAVX512, &%s[%s][0], o.%s)", t.Name, t.Name, forms, format, row), "%s", row)
	}
	f.write("float8", number, ", form *byte", "decodes up to n runs of chunks of 32 codes", t, func() {
		f.form = Mem{Base: Load(Param("form"), GP64())}
		before()
	})
}

// byMantissas is to BF16. What a product rounds to depends on the mantissa alone, so those of sixteen codes
// are rounded once for each run. Of them come two tables of 32 words: one by the lower bits of a
// code, to which the exponent is added, and one for codes whose exponent has all bits clear or all set: they
// are subnormal, infinite or NaN. Its index is the lowest bit of the exponent, the mantissa and the sign.
//
// The form is sixteen numbers; for each table the places of its bytes among those of the numbers; what
// is added to the words of the second one; then a few dwords.
func (f *float8) byMantissas() {
	const singles = 4 * 64
	numbers, added := Load64(f.form), Load64(f.form.Offset(192))
	places := [2]VecVirtual{Load64(f.form.Offset(64)), Load64(f.form.Offset(128))}
	// Upper is all bits of the exponent but the lowest, numeric the bytes of what is not NaN, whose word is what is added.
	shift, exponent, upper := Single(f.form.Offset(singles)), Single(f.form.Offset(singles+4)), Single(f.form.Offset(singles+8))
	numeric := Into(K(), KMOVQ, f.form.Offset(singles+12))
	sign, least := All(0x80008000), All(0x00800080)
	twice := Load64(Bytes64(func(i int) int { return i / 2 }))
	tables := [2]VecVirtual{ZMM(), ZMM()}
	f.run = func() {
		x := Into(ZMM(), VMULPS_BCST, Mem{Base: f.a}, numbers)
		Rounded(x)
		VPERMB(x, places[0], tables[0])
		VPERMB_Z(x, places[1], numeric, tables[1])
		VPADDW(added, tables[1], tables[1])
	}
	f.loop = func() {
		Repeat("chunk", f.chunks, func() {
			codes, e, w, at := ZMM(), ZMM(), ZMM(), ZMM()
			VMOVDQU32(f.From(0), codes.AsY())
			VPERMB(codes, twice, codes) // both bytes of a word
			VPERMW(tables[0], codes, w)
			VPSLLVD(shift, codes, e)
			VPANDD(exponent, e, e)
			VPADDW(e, w, w)
			VPTERNLOGD(Imm(0x78), sign, codes, w) // w ^ codes & sign
			VPADDW(least, e, e)
			special := Into(K(), VPTESTNMW, upper, e)
			VPSRLW(Imm(7), codes, at)
			VPERMW(tables[1], at, special, w)
			VMOVDQU16(w, f.To(0))
			f.Advance(32, 32)
		})
	}
}

// byWords multiplies each code by itself, 64 at once: there are two chunks in a run, or four and so on. The form is the
// words of codes without a sign, their lower bytes and their upper ones. All NaN of codes have
// the sign, and products of the other sign, which is changed.
func (f *float8) byWords() {
	var planes [4]VecVirtual // the lower bytes of words, 64 each, and the upper ones
	for i := range planes {
		planes[i] = Load64(f.form.Offset(64 * i))
	}
	order, sign, tops := DwordsOf(func(i int) int { return i%4*4 + i/4 }), All(0x80808080), All(0x80000000)
	zero, scale := ZMM(), ZMM()
	VPXORD(zero, zero, zero)
	f.run = func() {
		VPXORD_BCST(Mem{Base: f.a}, tops, scale)
		SHRQ(Imm(1), f.chunks)
	}
	f.loop = func() {
		Repeat("chunks", f.chunks, func() {
			low, high := Into(ZMM(), VPERMD, f.From(0), order), ZMM() // in the order that unpacking brings back
			VMOVDQA64(low, high)
			VPERMI2B(planes[3], planes[2], high)
			VPTERNLOGD(Imm(OrAnd), sign, low, high)
			VPERMI2B(planes[1], planes[0], low)
			for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
				w := Into(ZMM(), unpack, high, low)
				x := [2]VecVirtual{Into(ZMM(), VPUNPCKLWD, w, zero), Into(ZMM(), VPUNPCKHWD, w, zero)}
				for _, x := range x {
					VMULPS(scale, x, x)
					VXORPS(tops, x, x)
				}
				f.Put(32*i, x[0], x[1])
			}
			f.Advance(64, 64)
		})
	}
}

// cast converts between the types of numbers, 32 at a time.
func cast(from, to Target) {
	if from == to || to == ToF32 {
		return
	}
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
