package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Products of FP4 with the scales of MXFP4 and NVFP4 are numbers of BF16 without
// rounding, and there are 256 scales of each: the tables of all are variables, as
// low bytes and high bytes, and no number is computed. The other types widen them.

// tableOf is the table for the scale at off.
func (k *kernel) tableOf(variable string, off int) Mem {
	i, base := GP64(), Address(variable)
	MOVBQZX(k.from(off), i)
	SHLQ(Imm(5), i)
	return Mem{Base: base, Index: i, Scale: 1}
}

// both is a table in both halves of registers.
func both(at Mem) tables16 {
	l := tables16{YMM(), YMM()}
	VBROADCASTI128(at, l[0])
	VBROADCASTI128(at.Offset(16), l[1])
	return l
}

func mxfp4(k *kernel) {
	l := both(k.tableOf("mxfp4Tables", 0))
	if k.Wide {
		k.lookupWidened(0, k.foursOfNibbles(1, [4]byte{0, 2, 0, 2}, Dwords(0, 0, 4, 4)), l, l)
		return
	}
	k.lookup(0, k.nibbles(1), l)
}

// nvfp4 has sixteen elements in eight bytes: to BF16 those of the first and the
// third scale are looked up together, and those of the second and the fourth.
func nvfp4(k *kernel) {
	if k.Wide {
		for s := 0; s < 4; s += 2 {
			codes := k.foursOfNibbles(4+8*s, [4]byte{0, 0, 2, 2}, Dwords(0, 4, 0, 4))
			k.lookupWidened(16*s, codes, both(k.tableOf("nvfp4Tables", s)), both(k.tableOf("nvfp4Tables", s+1)))
		}
		return
	}
	low, high := k.nibblesTwice(Load32(k.from(4)))
	for s, unpack := range []func(...Op){VPUNPCKLQDQ, VPUNPCKHQDQ} {
		codes := YMM()
		unpack(high, low, codes)
		a, b := k.tableOf("nvfp4Tables", s), k.tableOf("nvfp4Tables", s+2)
		k.lookupTwice(16*s, 32+16*s, codes, tables16{join(a, b), join(a.Offset(16), b.Offset(16))})
	}
}

// foursOfNibbles spreads 16 bytes in the order of fours. The lower half of the register has
// the given fours of bytes, moved down by shift, the upper half those after each.
func (k *kernel) foursOfNibbles(off int, from [4]byte, shift Mem) VecVirtual {
	var order []byte
	for half := range byte(2) {
		for _, f := range from {
			first := 4 * (f + half)
			order = append(order, first, first+1, first+2, first+3)
		}
	}
	y := Into(YMM(), VBROADCASTI128, k.from(off))
	VPSHUFB(Data(order), y, y)
	VPSRLVD(shift, y, y)
	VPAND(k.shared["low"], y, y)
	return y
}

// lookupWidened writes 32 elements by their codes in the order of fours, under a
// table for the first and one for the second sixteen.
func (k *kernel) lookupWidened(at int, codes VecVirtual, first, second tables16) {
	zero := YMM()
	VPXOR(zero, zero, zero)
	low, high := k.found(codes, first)
	for half, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		if half == 1 && &second[0] != &first[0] {
			low, high = k.found(codes, second)
		}
		w := YMM()
		join(high, low, w)
		for i, widen := range []func(...Op){VPUNPCKLWD, VPUNPCKHWD} {
			x := YMM()
			widen(w, zero, x)
			k.store8(x, at+16*half+8*i)
		}
	}
}

// found is the low and the high bytes of what codes stand for.
func (k *kernel) found(codes VecVirtual, l tables16) (low, high VecVirtual) {
	return Into(YMM(), VPSHUFB, codes, l[0]), Into(YMM(), VPSHUFB, codes, l[1])
}
