package asm

import "math"

// ToE4M3 rounds to nearest, ties to even. Larger magnitudes become 448.
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

// NearestE2M1 returns the code of the nearest magnitude, of two the even one. Larger
// magnitudes become 6. With 2^e the largest power of two that is at most the number and at
// least 1, half the distance between codes is the last bit of 2^(e+22): adding that
// rounds, and there are two more codes for each e.
func NearestE2M1(x float32) byte {
	bits := min(math.Float32bits(x)&^(1<<31), 0x40C00000)
	power := max(bits, 0x3F800000)&0x7F800000 + 22<<23
	rounded := math.Float32bits(math.Float32frombits(bits) + math.Float32frombits(power))
	return byte(rounded - power + power>>22 - (127+22)*2)
}

// ToE2M1 is NearestE2M1 with the sign of negative numbers; zeros have none.
func ToE2M1(x float32) byte {
	bits := math.Float32bits(x)
	if bits<<1 == 0 {
		return 0
	}
	return byte(bits>>28)&8 | NearestE2M1(x)
}

// An e4m3Kernel takes chunks of numbers: 32 for E4M3, 16 for E2M1.
type e4m3Kernel = func(dst *byte, src *float32, factor float32, n int)

// E4M3Times writes x*factor as E4M3.
func (o *Ops) E4M3Times(dst []byte, src []float32, factor float32) {
	o.minifloat(o.e4m3Times, encodeChunk, dst, src, factor, func(x float32) byte { return ToE4M3(float32(x * factor)) })
}

// E4M3Over writes x/factor, rounded to a type, as E4M3.
func (o *Ops) E4M3Over(dst []byte, src []float32, factor float32, to Type) {
	o.minifloat(o.e4m3Over[to], encodeChunk, dst, src, factor, func(x float32) byte { return ToE4M3(rounded(x/factor, to)) })
}

// E2M1Over writes x/factor, rounded to a type, as E2M1, one code per byte. No quotient may
// be NaN.
func (o *Ops) E2M1Over(dst []byte, src []float32, factor float32, to Type) {
	o.minifloat(o.e2m1Over[to], encodeChunk/2, dst, src, factor, func(x float32) byte { return ToE2M1(rounded(x/factor, to)) })
}

// rounded rounds a number to a type.
func rounded(x float32, to Type) float32 {
	switch to {
	case BF16:
		return BfloatToFloat(FloatToBfloat(x))
	case F16:
		return HalfToFloat(FloatToHalf(x))
	}
	return x
}

func (o *Ops) minifloat(kernel e4m3Kernel, chunk int, dst []byte, src []float32, factor float32, code func(float32) byte) {
	want(len(dst) == len(src), "codes and numbers differ in count")
	apart(dst, Raw(src))
	done := 0
	if n := len(src) / chunk; kernel != nil && n > 0 {
		kernel(&dst[0], &src[0], factor, n)
		done = n * chunk
	}
	for i, x := range src[done:] {
		dst[done+i] = code(x)
	}
}
