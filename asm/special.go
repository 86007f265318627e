package asm

import "encoding/binary"

// exponents is the exponent bits of each number in 8 bytes of a type, and the lowest of
// them: added to an exponent of all ones, it carries into the sign.
var exponents = [...]struct{ mask, low uint64 }{
	F32:  {0x7F80_0000_7F80_0000, 0x0080_0000_0080_0000},
	BF16: {0x7F80_7F80_7F80_7F80, 0x0080_0080_0080_0080},
	F16:  {0x7C00_7C00_7C00_7C00, 0x0400_0400_0400_0400},
}

// infinities are the bits of infinity.
var infinities = [...]uint32{F32: 0x7F800000, BF16: 0x7F80, F16: 0x7C00}

const (
	signs = 0x8000_8000_8000_8000
	// specialRounds is how many times 64 bytes a kernel counts in 16 bits.
	specialRounds = 1<<14 - 1
)

// Special counts NaN and infinite numbers.
func (o *Ops) Special(t Type, src []byte) (nan, inf int) {
	want(len(src)%t.Size() == 0, "half a number")
	if kernel := o.special[t]; kernel != nil {
		for n := len(src) / 64; n > 0; n = len(src) / 64 {
			n = min(n, specialRounds)
			s := scratch()
			counts := Raw32(s.floats[:16])
			kernel(&counts[0], &src[0], n)
			for i := range 8 {
				nan += int(counts[8+i])
				inf += int(counts[i] - counts[8+i])
			}
			s.free()
			src = src[64*n:]
		}
	}
	a, b := scalarSpecial(t, src)
	return nan + a, inf + b
}

// scalarSpecial examines 32 bytes at once, and single numbers if one is special. No carry
// reaches the two bytes before a sign of F32, so the same mask of signs serves all types.
func scalarSpecial(t Type, p []byte) (nan, inf int) {
	e := exponents[t]
	for len(p) >= 32 {
		a, b := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		c, d := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if ((a&e.mask+e.low)|(b&e.mask+e.low)|(c&e.mask+e.low)|(d&e.mask+e.low))&signs != 0 {
			i, j := specialOf(t, p[:32])
			nan, inf = nan+i, inf+j
		}
		p = p[32:]
	}
	i, j := specialOf(t, p)
	return nan + i, inf + j
}

func specialOf(t Type, p []byte) (nan, inf int) {
	for size := t.Size(); len(p) > 0; p = p[size:] {
		magnitude := uint32(u16(p)) & 0x7FFF
		if size == 4 {
			magnitude = u32(p) & 0x7FFFFFFF
		}
		switch {
		case magnitude > infinities[t]:
			nan++
		case magnitude == infinities[t]:
			inf++
		}
	}
	return nan, inf
}
