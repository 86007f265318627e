package asm

import "math"

// HalfToFloat converts a float16. Subnormal numbers are kept, a signaling NaN becomes
// quiet as on processors.
func HalfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, man := uint32(h>>10&31), uint32(h&0x3FF)
	switch {
	case exp == 31 && man != 0:
		return math.Float32frombits(sign | 0x7FC00000 | man<<13)
	case exp == 31:
		return math.Float32frombits(sign | 0x7F800000)
	case exp == 0: // man * 2^-24, exact
		return math.Float32frombits(math.Float32bits(float32(man)*0x1p-24) | sign)
	default:
		return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
	}
}

// FloatToHalf rounds to float16, to nearest, ties to even. Too large numbers become
// infinite, and every NaN 7E00.
func FloatToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign, mag := uint16(b>>16&0x8000), b&0x7FFFFFFF
	switch {
	case mag > 0x7F800000:
		return 0x7E00
	case mag >= 0x477FF000: // 65520 and above round to infinity
		return sign | 0x7C00
	case mag < 0x38800000: // below 2^-14: count units of 2^-24
		if mag < 0x33000000 { // below half a unit
			return sign
		}
		shift := 126 - mag>>23 // 14..24: how far the 24-bit significand moves right
		sig := mag&0x7FFFFF | 0x800000
		return sign | uint16(roundShift(sig, shift))
	default:
		return sign | uint16(roundShift(mag-0x38000000, 13))
	}
}

// roundShift returns v >> n rounded to nearest, ties to even.
func roundShift(v, n uint32) uint32 {
	return (v + 1<<(n-1) - 1 + v>>n&1) >> n
}

func BfloatToFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// FloatToBfloat rounds to bfloat16, to nearest, ties to even. Every NaN becomes 7FC0.
func FloatToBfloat(f float32) uint16 {
	if f != f {
		return 0x7FC0
	}
	b := math.Float32bits(f)
	return uint16((b + 0x7FFF + b>>16&1) >> 16) // no carry is lost: NaN is gone
}
