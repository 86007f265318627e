package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// castKernels converts between the types of numbers, 32 at a time.
func castKernels() {
	for _, f := range Targets {
		for _, t := range Targets {
			name := "cast" + f.Name + "To" + t.Name + "AVX2"
			Entry(name, "cast[%s][%s]", f.Name, t.Name)
			Frame(name, "func(dst *byte, src *byte, n int)", "converts 32 numbers n times.",
				"For 32 numbers:", "x = src as float32, a NaN as 7FC00000;", "dst = x, rounded to "+t.Name+".")
			dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
			n := Load(Param("n"), GP64())
			k := &kernel{Target: t, dst: dst, src: src, add: Load32(Dwords(roundPlain)), up: Load32(Dwords(roundPlain + 1))}
			rounds(n, src, U32(32*f.Width()), dst, U32(32*t.Width()), func() {
				for i := 0; i < 4; i += 2 {
					k.castPair(f, 8*i)
				}
			})
		}
	}
}

func (k *kernel) castPair(from Target, at int) {
	out := [2]VecVirtual{YMM(), YMM()}
	for i, x := range out {
		from.Widen(k.from((at+8*i)*from.Width()), x)
		quieted(x)
	}
	k.store(out, at)
}

// store writes sixteen numbers in their order, of which a NaN is 7FC00000.
func (k *kernel) store(x [2]VecVirtual, at int) {
	if !k.Wide {
		for _, y := range x {
			k.nearest(y)
			VPSRLD(Imm(16), y, y)
		}
		VPACKUSDW(x[1], x[0], x[0])
		VPERMQ(Imm(quads), x[0], x[0])
		VMOVDQU(x[0], k.to(at))
		return
	}
	for i, y := range x {
		k.store8(y, at+8*i)
	}
}

// specialKernels count, in 64 bytes at a time, numbers whose magnitude is above
// the largest one, and those whose magnitude is above infinity, which tells types
// of a size apart. Lanes of 16 bits hold 16,383 rounds of two.
func specialKernels() {
	for _, t := range []struct {
		size                         string
		types                        []string
		magnitude                    Mem
		repeat, add, less, isGreater func(...Op)
	}{
		{"32", []string{"F32"}, Dwords(0x7FFFFFFF), VPBROADCASTD, VPADDD, VPSUBD, VPCMPGTD},
		{"16", []string{"BF16", "F16"}, Words(0x7FFF), VPBROADCASTW, VPADDW, VPSUBW, VPCMPGTW},
	} {
		name := "special" + t.size + "AVX2"
		for _, of := range t.types {
			Entry(fmt.Sprintf("with(%s, infinities[%s])", name, of), "special[%s]", of)
		}
		Frame(name, "func(counts *uint32, src *byte, infinity uint32, n int)", "counts in n times 64 bytes: eight sums of what is no finite number, eight of NaN.",
			"For each number:", "sums[0] += magnitude > the largest number;", "sums[1] += magnitude > infinity.")
		counts, src := Load(Param("counts"), GP64()), Load(Param("src"), GP64())
		magnitude := Load32(t.magnitude)
		limits := [2]VecVirtual{YMM(), YMM()} // the largest number, and infinity
		VMOVD(Load(Param("infinity"), GP32()), limits[1].AsX())
		t.repeat(limits[1].AsX(), limits[1])
		t.add(Dwords(0xFFFFFFFF), limits[1], limits[0])
		n := Load(Param("n"), GP64())
		var sums [2][2]VecVirtual
		for i := range sums {
			for j := range sums[i] {
				sums[i][j] = YMM()
				VPXOR(sums[i][j], sums[i][j], sums[i][j])
			}
		}
		Repeat("more", n, func() {
			for i := range 2 {
				x := Into(YMM(), VPAND, Mem{Base: src, Disp: 32 * i}, magnitude)
				for j := range 2 {
					above := YMM()
					t.isGreater(limits[j], x, above)
					t.less(above, sums[i][j], sums[i][j])
				}
			}
			ADDQ(Imm(64), src)
		})
		for j := range 2 {
			t.add(sums[0][j], sums[1][j], sums[0][j])
			if t.size == "16" {
				VPMADDWD(Words(1), sums[0][j], sums[0][j])
			}
			VMOVDQU(sums[0][j], Mem{Base: counts, Disp: 32 * j})
		}
		End()
	}
}
