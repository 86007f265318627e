package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Single is the float32 at m in all lanes.
func Single(m Mem) VecVirtual {
	return Into(ZMM(), VPBROADCASTD, m)
}

// Half is the float16 at m in all lanes.
func Half(m Mem) VecVirtual {
	h := Into(YMM(), VPBROADCASTW, m)
	return Into(ZMM(), VCVTPH2PS, h)
}

// Times is sixteen small integers in dwords, as floats, times d.
func Times(x, d VecVirtual) {
	VCVTDQ2PS(x, x)
	VMULPS(d, x, x)
}

// A Scales is memory for sixteen float32.
type Scales struct{ At Mem }

// Keep stores them.
func Keep(z *Kernel, x VecVirtual) Scales {
	s := Scales{z.Room(64)}
	VMOVUPS(x, s.At)
	return s
}

// By is x times scale i.
func (s Scales) By(x VecVirtual, i int) VecVirtual {
	return Into(ZMM(), VMULPS_BCST, s.At.Offset(4*i), x)
}

// Signed16 writes 64 signed bytes, which go by way of memory to dwords, times
// their scales: that of the i-th sixteen is scale of(i).
func (z *Kernel) Signed16(at int, codes VecVirtual, way Mem, s Scales, of func(i int) int) {
	VMOVDQU64(codes, way)
	for i := 0; i < 4; i += 2 {
		a, b := Signed(way.Offset(16*i)), Signed(way.Offset(16*i+16))
		ToFloats(a, b)
		z.Put(at+16*i, s.By(a, of(i)), s.By(b, of(i+1)))
	}
}
