package blocks

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/avx2"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A minima is scales and minimums, eight of each or sixteen.
type minima struct{ d, m Scales }

// join returns x times scale i minus its minimum. A float16 times six bits and five is
// exact, so there is one rounding.
func (p minima) join(x VecVirtual, i int) VecVirtual {
	y := Into(ZMM(), VPBROADCASTD, p.m.At.Offset(4*i))
	VFMSUB231PS_BCST(p.d.At.Offset(4*i), x, y)
	return y
}

// sixBits unpacks d, dmin and the eight pairs of scale and minimum from the first 16 bytes
// of a block.
func sixBits(z *Kernel) minima {
	head := Sixteen(z.From(0))
	// Lanes 0-7 are the scales, 8-15 the minima. The first four have their upper
	// bits in place, the others on top of what the first have.
	own := Lanes(head, func(i int) int {
		switch i {
		case 0, 1, 2, 3, 8, 9, 10, 11:
			return 4 + i%4 + i/8*4
		}
		return 12 + i%4
	}, func(i int) int { return i / 12 * 4 })
	top := Lanes(head, func(i int) int { return 4 + i%4 + i/8*4 }, func(int) int { return 2 })
	VPANDD(Dwords64(func(i int) int { return [2]int{63, 15}[i/4%2] }), own, own)
	VPTERNLOGD(Imm(AndOr), own, DwordsOf(func(i int) int { return [2]int{0, 0x30}[i/4%2] }), top)
	h := Into(ZMM(), VPERMB, head, Load64(Words64(func(i int) int { return i/8%2*0x202 + 0x100 })))
	whole := Into(ZMM(), VCVTPH2PS, h.AsY())
	Times(top, whole)
	s := Keep(z, top)
	return minima{s, Scales{At: s.At.Offset(32)}}
}

func q4K(z *Kernel) func() {
	z.SetIndex()
	codes := Counted(0)
	return func() {
		Comment("Scales and minima.")
		p := sixBits(z)
		for i := range 4 {
			Comment("64 elements under two scales.")
			low, high := z.NibblePair(16 + 32*i)
			z.Couple(64*i, 64*i+32, low, high, p.join(codes, 2*i), p.join(codes, 2*i+1))
		}
	}
}

func q5K(z *Kernel) func() {
	z.SetIndex()
	codes, more := Counted(0), Counted(16)
	bit := All(0x20202020) // where an index has the fifth bit
	if !z.Words() {
		bit = All(0x0F0F0F0F) // what the fifth bit stands above
	}
	return func() {
		Comment("Scales and minima.")
		p := sixBits(z)
		var fifths Codes
		if z.Words() {
			fifths = Codes{Repeated(z.From(16))}
		} else {
			fifths = z.Codes(z.From(16))
		}
		for i := 0; i < 8; i += 2 {
			Comment("64 elements under two scales.")
			low, high := z.NibblePair(48 + 16*i)
			for j, c := range []Codes{low, high} {
				t := z.Table32(p.join(codes, i+j), p.join(more, i+j))
				fiveBits(z, 32*(i+j), c, fifths, bit, i+j, t)
			}
		}
	}
}

// fiveBits writes 32 codes, whose fifth bits are bit n of fifths.
func fiveBits(z *Kernel, at int, c, fifths Codes, bit VecVirtual, n int, t Table) {
	if !z.Words() {
		for j, b := range z.Moved(fifths, n-4) {
			VPTERNLOGD(Imm(Choose), b, bit, c[j])
		}
		z.Lookup(at, c, t)
		return
	}
	x := z.Index(c[0], 0)
	VPTERNLOGD(Imm(OrAnd), z.Moved(fifths, n-5)[0], bit, x)
	z.Placed(at, x, t)
}

func q6K(z *Kernel) func() {
	low, top, less := All(0x0F0F0F0F), All(0x30303030), All(0x20202020)
	return func() {
		Comment("Scales.")
		d, s := Half(z.From(208)), Signed(z.From(192))
		Times(s, d)
		kept := Keep(z, s)
		for i := range 4 {
			Comment("64 elements.")
			codes, high, bits := ZMM(), ZMM(), ZMM()
			VMOVDQU64(z.From(i/2*64), codes)
			VBROADCASTI64X4(z.From(128+i/2*32), bits)
			if i%2 == 1 {
				VPSRLW(Imm(4), codes, codes)
				VPSRLVQ(Qwords64(func(i int) int { return i / 4 * 2 }), bits, high)
			} else {
				VPSLLVQ(Qwords64(func(i int) int { return 4 - i/4*2 }), bits, high)
			}
			VPANDD(low, codes, codes)
			VPTERNLOGD(Imm(AndOr), codes, top, high)
			VPSUBB(less, high, high)
			way := z.Local(64) // signed bytes go by way of memory to dwords
			VMOVDQU64(high, way)
			for j := 0; j < 4; j += 2 {
				a, b := Signed(way.Offset(16*j)), Signed(way.Offset(16*j+16))
				ToFloats(a, b)
				z.Put(64*i+16*j, kept.By(a, 4*i+j), kept.By(b, 4*i+j+1))
			}
		}
	}
}

func iq4XS(z *Kernel) func() {
	z.SetIndex()
	codebook := Values(avx2.IQ4Values)
	return func() {
		Comment("Scales.")
		head := Into(ZMM(), VPBROADCASTQ, z.From(0))
		own := Lanes(head, func(i int) int { return 4 + i/2%4 }, func(i int) int { return i % 2 * 4 })
		top := Into(ZMM(), VPERMB, head, Load64(Bytes64(func(i int) int { return [4]int{2, 2, 3, 3}[i%4] })))
		VPSRLVD(Dwords64(func(i int) int { return [8]int{4, 6, 8, 10, 12, 14, 16, 18}[i%8] }), top, top)
		VPANDD(All(15), own, own)
		VPTERNLOGD(Imm(AndOr), own, All(0x30), top)
		VPSUBD(All(32), top, top)
		Times(top, Half(z.From(0)))
		kept := Keep(z, top)
		for i := 0; i < 8; i += 2 {
			z.Couple(32*i, 32*i+32, z.NibblesOf(8+16*i), z.NibblesOf(24+16*i), kept.By(codebook, i), kept.By(codebook, i+1))
		}
	}
}

// Q2_K and Q3_K: codes of two bits and three under sixteen scales. Mask is the bits of a
// code, in words above the numbers of scales.

func q2K(z *Kernel) func() {
	mask := All(0x00300030)
	if !z.Words() {
		mask = All(3)
	}
	return func() {
		Comment("Scales and minima.")
		d, m := Unsigned(z.From(0)), ZMM()
		VPSRLD(Imm(4), d, m)
		VPANDD(All(15), d, d)
		Times(d, Half(z.From(80)))
		Times(m, Half(z.From(82)))
		if !z.Words() {
			p := minima{Keep(z, d), Keep(z, m)}
			for r := range 8 {
				c := z.Moved(z.Codes(z.From(16+r/4*32)), r%4*2)
				for _, x := range c {
					VPANDD(mask, x, x)
				}
				ToFloats(c...)
				z.Put(32*r, p.join(c[0], 2*r), p.join(c[1], 2*r+1))
			}
			return
		}
		// Sixteen scales under each of two values a register: word 16*v + i is value v under scale i.
		var t Table
		for v := 0; v < 4; v += 2 {
			var level [2]VecVirtual
			for j := range level {
				level[j] = Into(ZMM(), VMULPS_BCST, Floats(float32(v+j)), d)
				VSUBPS(m, level[j], level[j])
			}
			t = append(t, z.Table32(level[0], level[1])[0])
		}
		for r := range 8 {
			x := z.Moved(z.Codes(z.From(16+r/4*32)), r%4*2-4)[0] // times 16, with the numbers of two scales below
			VPTERNLOGD(Imm(AndOr), Load64(Words64(func(i int) int { return 2*r + i/16 })), mask, x)
			VPERMI2W(t[1], t[0], x)
			VMOVDQU64(x, z.To(32*r))
		}
	}
}

func q3K(z *Kernel) func() {
	mask := All(0x00030003)
	values := Values([16]float32{-4, -3, -2, -1, 0, 1, 2, 3, -4, -3, -2, -1, 0, 1, 2, 3})
	return func() {
		Comment("Scales.")
		tail := Sixteen(z.From(94)) // the scales begin at its byte 2
		own := Lanes(tail, func(i int) int { return 2 + i%8 }, func(i int) int { return i / 8 * 4 })
		d := Into(ZMM(), VPERMB, tail, Load64(Bytes64(func(i int) int { return 10 + i/4%4 })))
		VPSRLVD(Dwords64(func(i int) int { return 4 + i/4*2 }), d, d) // four equal bytes
		VPANDD(All(15), own, own)
		VPTERNLOGD(Imm(AndOr), own, All(0x30), d)
		VPSUBD(All(32), d, d)
		Times(d, Half(z.From(108)))
		var t Table
		for r := range 8 {
			if r%2 == 0 { // the eight values, -4 to 3, under each of four scales
				var level [2]VecVirtual
				for j := range level {
					level[j] = Into(ZMM(), VPERMD, d, DwordsOf(func(i int) int { return 2*r + 2*j + i/8 }))
					VMULPS(values, level[j], level[j])
				}
				t = z.Table32(level[0], level[1])
			}
			x, set := z.Moved(z.Codes(z.From(32+r/4*32)), r%4*2)[0], K()
			VPTERNLOGD(Imm(AndOr), Load64(Words64(func(i int) int { return r%2*16 + i/16*8 })), mask, x)
			thirds := Into(YMM(), VMOVDQU64, z.From(0))
			VPTESTMB(Bytes32(1<<r), thirds, set)
			VPADDW(Words64(func(int) int { return 4 }), x, set, x)
			z.Lookup(32*r, Codes{x}, t)
		}
	}
}
