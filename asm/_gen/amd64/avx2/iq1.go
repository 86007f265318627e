package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// shifted returns grid values times eight, which the shift of an eighth makes integers; an
// eighth of the scale is exact.
func shifted(codes, eighths VecVirtual) {
	VPADDB(codes, codes, codes)
	VPADDB(codes, codes, codes)
	VPADDB(codes, codes, codes)
	VPADDB(eighths, codes, codes)
}

func iq1S(k *kernel) {
	indices := k.indices(32, 2, 34, fieldsOfWords(), true)
	d, s := k.half(0), k.scales(8)
	heads := Into(YMM(), VPMOVZXWD, k.From(34))
	down := Into(YMM(), VPSLLD, Imm(16), heads)
	y := Into(YMM(), VPSRLD, Imm(12), heads)
	VPAND(Dwords(7), y, y)
	k.dByScale(y, d, 0, 0.125)
	s.keep(0, y)
	grid := Address("iq1Grid")
	rows := func(r *groups, i int) VecVirtual { return rows8(grid, r.words4(indices, i)) }
	if k.Wide {
		eighths := k.Local(32)
		VPSRAD(Imm(31), down, down)
		VPOR(Bytes32(1), down, down)
		VMOVDQU(down, eighths)
		k.grids(4, func(r *groups, i int) VecVirtual {
			codes, up := rows(r, i), YMM()
			VPBROADCASTD(r.at(eighths, 4, i), up)
			shifted(codes, up)
			return codes
		}, func(r *groups, i int, codes VecVirtual) {
			of := r.of(s, 1, i, 0)
			k.scaled(32*i, codes, of, of)
		})
		return
	}
	t := k.smallTables(4, 8)
	t.build(k, 0, true, func(q int) VecVirtual {
		if q == 3 {
			return nil
		}
		x, level := YMM(), float32(8*(1-q)) // in eighths and less than nothing: products are negated
		VBLENDVPS(down, Floats(level+1), Load32(Floats(level-1)), x)
		VMULPS(y, x, x)
		return x
	})
	k.grids(1, rows, func(r *groups, i int, codes VecVirtual) {
		VPADDB(Bytes32(1), codes, codes)
		k.lookup(32*i, codes, t.of(r, i))
	})
}

func iq1M(k *kernel) {
	indices := k.indices(32, 0, 32, fieldsOfBytes(2, 4, 7), false)
	all := Into(GP64(), MOVQ, k.From(48))
	mask := Into(GP64(), MOVQ, U64(0xF000F000F000F000))
	r := Into(GP64(), PEXTQ, mask, all)
	x := Into(XMM(), VMOVD, r.As32())
	VPBROADCASTW(x, x)
	d := Into(YMM(), VCVTPH2PS, x)
	MOVQ(U64(0x0FFF0FFF0FFF0FFF), mask)
	PEXTQ(mask, all, r)
	s, t := k.scales(16), smallTables{}
	if !k.Wide {
		t = k.smallTables(8, 16)
	}
	for i := range 2 {
		y := Into(YMM(), VPMOVZXBD, spread(r, 0x0707070707070707))
		k.dByScale(y, d, 0, 0.125)
		if k.Wide {
			s.keep(8*i, y)
		} else {
			t.build(k, i, true, func(q int) VecVirtual {
				if q%4 == 3 {
					return nil
				}
				x := Into(YMM(), VMULPS, Floats(float32(8*(1-q%4)-1+q/4*2)), y) // as in IQ1_S
				return x
			})
		}
		if i == 0 {
			SHRQ(Imm(24), r)
		}
	}
	grid := Address("iq1Grid")
	k.grids(4, func(r *groups, i int) VecVirtual {
		codes, down := rows8(grid, r.words4(indices, i)), YMM()
		VPBROADCASTW(r.at(k.From(32), 2, i), down)
		VPSHUFB(Data([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}), down, down)
		own := []byte{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128}
		VPAND(Data(own), down, down)
		if k.Wide {
			VPCMPEQB(Data(own), down, down)
			VPOR(Bytes32(1), down, down)
			shifted(codes, down)
			return codes
		}
		VPMINUB(Bytes32(4), down, down) // the tables' upper halves
		VPADDB(Bytes32(1), codes, codes)
		VPOR(down, codes, codes)
		return codes
	}, func(r *groups, i int, codes VecVirtual) {
		if k.Wide {
			k.scaled(32*i, codes, r.of(s, 2, i, 0), r.of(s, 2, i, 1))
		} else {
			k.lookup(32*i, codes, t.ofTwo(r, i, codes))
		}
	})
}
