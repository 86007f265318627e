package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bytes64 is 64 bytes, as a function of their place.
func bytes64(of func(i int) int) Mem {
	var p [64]byte
	for i := range p {
		p[i] = byte(of(i))
	}
	return data(p[:])
}

// words64 is 32 words.
func words64(of func(i int) int) Mem {
	return bytes64(func(i int) int { return of(i/2) >> (i % 2 * 8) })
}

// dwords64 is 16 dwords.
func dwords64(of func(i int) int) Mem {
	return bytes64(func(i int) int { return of(i/4) >> (i % 4 * 8) })
}

// all is a dword in all lanes.
func all(v uint32) VecVirtual {
	x := ZMM()
	VPBROADCASTD(dwords(v), x)
	return x
}

// zload is 64 bytes of memory.
func zload(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU64(m, x)
	return x
}

// mask is a mask of constant bits.
func mask(bits uint64) OpmaskVirtual {
	r, k := GP64(), K()
	MOVQ(U64(bits), r)
	KMOVQ(r, k)
	return k
}

// floats64 is sixteen numbers.
func floats64(v [16]float32) Mem {
	return dwords64(func(i int) int { return int(math.Float32bits(v[i])) })
}
