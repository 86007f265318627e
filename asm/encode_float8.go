package asm

import "math"

// ToE4M3 rounds to nearest and ties to even; what is larger than 448 becomes it.
func ToE4M3(x float32) byte {
	bits := math.Float32bits(x)
	sign, mag := byte(bits>>24&0x80), bits&0x7FFFFFFF
	switch {
	case mag >= 0x43E00000:
		return sign | 0x7E
	case mag < 0x3C800000: // below 2^-6: count units of 2^-9
		return sign | byte(nearest(float32(math.Float32frombits(mag)*0x1p9)))
	}
	mag += 0x7FFFF + mag>>20&1 // the exponent's 8 bits and 3 of the fraction stay
	return sign | byte(mag>>20-120<<3)
}

// An e4m3Kernel takes 32 n numbers.
type e4m3Kernel = func(dst *byte, src *float32, factor float32, n int)

// E4M3Times writes numbers times a factor as E4M3.
func (o *Ops) E4M3Times(dst []byte, src []float32, factor float32) {
	o.e4m3(o.e4m3Times, dst, src, factor, func(x float32) float32 { return float32(x * factor) })
}

// E4M3Over writes numbers over a factor, rounded to a type, as E4M3.
func (o *Ops) E4M3Over(dst []byte, src []float32, factor float32, to Type) {
	var scaled func(x float32) float32
	switch to {
	case BF16:
		scaled = func(x float32) float32 { return BfloatToFloat(FloatToBfloat(x / factor)) }
	case F16:
		scaled = func(x float32) float32 { return HalfToFloat(FloatToHalf(x / factor)) }
	default:
		scaled = func(x float32) float32 { return x / factor }
	}
	o.e4m3(o.e4m3Over[to], dst, src, factor, scaled)
}

func (o *Ops) e4m3(kernel e4m3Kernel, dst []byte, src []float32, factor float32, scaled func(float32) float32) {
	want(len(dst) == len(src), "codes and numbers differ in count")
	apart(dst, Raw(src))
	done := 0
	if n := len(src) / encodeChunk; kernel != nil && n > 0 {
		kernel(&dst[0], &src[0], factor, n)
		done = n * encodeChunk
	}
	for i, x := range src[done:] {
		dst[done+i] = ToE4M3(scaled(x))
	}
}
