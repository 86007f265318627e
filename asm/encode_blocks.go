package asm

import (
	"encoding/binary"
	"math"
)

// nibbles stores the first half of the codes in the low nibbles; there are eight or more.
func nibbles(dst []byte, codes []uint8) {
	n := len(codes) / 2
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], eight(codes[i:])&(15*eachByte)|eight(codes[n+i:])&(15*eachByte)<<4)
	}
}

// fifthBits stores bit 4 of 32 codes. The product moves that of byte i to bit 56+i.
func fifthBits(dst []byte, codes []uint8) {
	for i := range 4 {
		dst[i] = byte(eight(codes[8*i:]) >> 4 & eachByte * 0x0102040810204080 >> 56)
	}
}

// symmetricCodes computes codes of Q4_0 and Q5_0: code = x/d + half, d = max/-half, so
// that the number of largest magnitude has code 0.
func symmetricCodes(codes []uint8, x []float32, half int) (d float32) {
	top, _ := largest(x)
	d = top / -float32(half)
	inverse, up := reciprocal(d), float32(half)+0.5
	for i, v := range x {
		codes[i] = uint8(min(int8(truncate(float32(v*inverse)+up)), int8(2*half-1)))
	}
	return d
}

// affineCodes computes codes of Q4_1 and Q5_1: code = (x-min)/d, d = (max-min)/top.
func affineCodes(codes []uint8, x []float32, top int) (d, low float32) {
	low, high := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	for _, v := range x {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	d = (high - low) / float32(top)
	inverse := reciprocal(d)
	for i, v := range x {
		codes[i] = uint8(truncate(float32((v-low)*inverse) + 0.5))
	}
	return d, low
}

var encodeQ4_0 = byRow(32, 18, func(p []byte, x []float32) {
	var codes [32]uint8
	putHalf(p, symmetricCodes(codes[:], x, 8))
	nibbles(p[2:], codes[:])
}, func(p []byte, x, matrix []float32, mean float32) {
	var w [32]float32
	var codes [32]uint8
	importance(w[:], x, matrix, mean)
	putHalf(p, searchSymmetric(signed(codes[:]), x, w[:], 8))
	nibbles(p[2:], codes[:])
})

var encodeQ5_0 = byRow(32, 22, func(p []byte, x []float32) {
	var codes [32]uint8
	putHalf(p, symmetricCodes(codes[:], x, 16))
	fifthBits(p[2:], codes[:])
	nibbles(p[6:], codes[:])
}, func(p []byte, x, matrix []float32, mean float32) {
	var w [32]float32
	var codes [32]uint8
	importance(w[:], x, matrix, mean)
	putHalf(p, searchSymmetric(signed(codes[:]), x, w[:], 16))
	fifthBits(p[2:], codes[:])
	nibbles(p[6:], codes[:])
})

var encodeQ4_1 = byRow(32, 20, func(p []byte, x []float32) {
	var codes [32]uint8
	d, low := affineCodes(codes[:], x, 15)
	for i, c := range codes {
		codes[i] = uint8(min(int8(c), 15))
	}
	putHalf(p, d)
	putHalf(p[2:], low)
	nibbles(p[4:], codes[:])
}, func(p []byte, x, matrix []float32, mean float32) {
	var codes [32]uint8
	putAffine(p, codes[:], x, matrix, mean, 15)
	nibbles(p[4:], codes[:])
})

var encodeQ5_1 = byRow(32, 24, func(p []byte, x []float32) {
	var codes [32]uint8
	d, low := affineCodes(codes[:], x, 31)
	putHalf(p, d)
	putHalf(p[2:], low)
	fifthBits(p[4:], codes[:])
	nibbles(p[8:], codes[:])
}, func(p []byte, x, matrix []float32, mean float32) {
	var codes [32]uint8
	putAffine(p, codes[:], x, matrix, mean, 31)
	fifthBits(p[4:], codes[:])
	nibbles(p[8:], codes[:])
})

// putAffine finds scale and minimum of one block and stores them.
func putAffine(p []byte, codes []uint8, x, matrix []float32, mean float32, top int) {
	var w [32]float32
	var scratch [32]uint8
	importance(w[:], x, matrix, mean)
	s := affineSearch{top: top, first: -0.9, step: 0.05, steps: 36}
	d, minimum := s.find(codes, scratch[:], x, w[:])
	putHalf(p, d)
	putHalf(p[2:], -minimum)
}

var encodeQ8_0 = eachBlock(32, 34, func(p []byte, x, _ []float32) {
	_, magnitude := largest(x)
	d := magnitude / 127
	inverse := reciprocal(d)
	putHalf(p, d)
	for i, v := range x {
		p[2+i] = byte(truncate(away(float32(v * inverse))))
	}
})

// encodeQ1_0 stores the mean magnitude as d, and a bit for each sign.
var encodeQ1_0 = eachBlock(128, 18, func(p []byte, x, _ []float32) {
	sum := float32(0)
	for _, v := range x {
		sum += abs32(v)
	}
	putHalf(p, sum/128)
	for i := range 16 {
		signs := uint8(0)
		for k, v := range x[8*i:][:8] {
			bit := uint8(0)
			if v >= 0 {
				bit = 1
			}
			signs |= bit << k
		}
		p[2+i] = signs
	}
})

var encodeQ2_0 = eachBlock(64, 18, func(p []byte, x, _ []float32) {
	d, inverse := ternaryScale(x)
	putHalf(p, d)
	if inverse > math.MaxFloat32 { // NaN becomes the least code
		for i := range 16 {
			q := uint8(0)
			for k, v := range x[4*i:][:4] {
				q |= uint8(clamp(int(truncate(away(float32(v*inverse)))+1), 0, 3)) << (2 * k)
			}
			p[2+i] = q
		}
		return
	}
	for i := range 16 {
		v := x[4*i:][:4]
		p[2+i] = ternary(v[0], inverse) | ternary(v[1], inverse)<<2 | ternary(v[2], inverse)<<4 | ternary(v[3], inverse)<<6
	}
})

// fp4Bounds are midway between the magnitudes of fp4Doubled.
var fp4Bounds = [7]float32{0.5, 1.5, 2.5, 3.5, 5, 7, 10}

// nearestFP4 returns the code whose value times d is nearest to x: midway the smaller
// magnitude, and 0 for both zeros. The bounds times d are exact, since d has at most four
// significant bits.
func nearestFP4(x, d float32) uint8 {
	if d == 0 {
		return 0
	}
	c, magnitude := uint8(0), abs32(x)
	for _, b := range fp4Bounds {
		if magnitude > b*d {
			c++
		}
	}
	if c > 0 && x < 0 {
		c |= 8
	}
	return c
}

// The exponent is that of the largest magnitude less 2, as log2f rounds it: just
// below a power of two that is the next one. Below 2^-125 ggml's wraps around; here
// it is 0.
var encodeMXFP4 = eachBlock(32, 17, func(p []byte, x, _ []float32) {
	_, magnitude := largest(x)
	p[0] = 0
	if magnitude > 0 {
		p[0] = uint8(max(0, logarithm(magnitude)+125))
	}
	var codes [32]uint8
	d := e8m0Half(p[0])
	for i, v := range x {
		codes[i] = nearestFP4(v, d)
	}
	nibbles(p[1:], codes[:])
})

// logarithm returns the integer part of the binary logarithm, after rounding it to
// float32.
func logarithm(x float32) float64 { return math.Floor(float64(float32(math.Log2(float64(x))))) }

var encodeNVFP4 = eachBlock(64, 36, func(p []byte, x, _ []float32) {
	for s := range 4 {
		run := x[16*s:][:16]
		_, magnitude := largest(run)
		p[s] = toUE4M3(magnitude / 6)
		d := ue4m3Half(p[s])
		var codes [16]uint8
		for i, v := range run {
			codes[i] = nearestFP4(v, d)
		}
		nibbles(p[4+8*s:], codes[:])
	}
})

// toUE4M3 rounds to unsigned E4M3, half up; from 248 on the result is 448.
func toUE4M3(x float32) uint8 {
	if !(x > 0) {
		return 0
	}
	x = min(x, 448)
	bits := math.Float32bits(x)
	exp := int(bits>>23) - 127 + 7
	if exp <= 0 { // units of 2^-9
		return uint8(min(7, truncate(float32(x*512)+0.5)))
	}
	code := exp<<3 + int(bits>>20&7) + int(bits>>19&1)
	if code >= 15<<3 {
		return 0x7E
	}
	return uint8(code)
}

// ternaryScale returns the largest magnitude d of some numbers, and 1/d.
func ternaryScale(x []float32) (d, inverse float32) {
	var most [4]uint32 // magnitudes compare as their bits do
	for i := 0; i+4 <= len(x); i += 4 {
		v := x[i:][:4]
		most[0] = max(most[0], math.Float32bits(v[0])&^signBit)
		most[1] = max(most[1], math.Float32bits(v[1])&^signBit)
		most[2] = max(most[2], math.Float32bits(v[2])&^signBit)
		most[3] = max(most[3], math.Float32bits(v[3])&^signBit)
	}
	d = math.Float32frombits(max(most[0], most[1], most[2], most[3]))
	return d, reciprocal(d)
}

const signBit = 1 << 31

// ternary returns round(x/d)+1 with round(x/d) in -1 to 1, without a branch. Magnitudes of
// a half or more round to 1.
func ternary(x, inverse float32) uint8 {
	bits := math.Float32bits(x * inverse)
	one := (bits&^signBit + (signBit - 0x3F000000)) >> 31
	minus := uint32(int32(bits) >> 31)
	return uint8((one ^ minus) - minus + 1)
}

// ternaryDigits returns five ternary digits at distances apart as a fraction of 3^5, in
// 256ths.
func ternaryDigits(x []float32, apart int, inverse float32) uint8 {
	x = x[:4*apart+1]
	q := uint32(ternary(x[0], inverse))
	for digit := 1; digit < 5; digit++ {
		q = 3*q + uint32(ternary(x[digit*apart], inverse))
	}
	return uint8((q*256 + 242) / 243)
}

var encodeTQ1_0 = eachBlock(256, 54, func(p []byte, x, _ []float32) {
	d, inverse := ternaryScale(x)
	putHalf(p[52:], d)
	if inverse > math.MaxFloat32 { // no product is a number: all digits are the middle one
		for i := range 52 {
			p[i] = 0x80
		}
		p[48], p[49], p[50], p[51] = 0x7F, 0x7F, 0x7F, 0x7F
		return
	}
	for i := range 32 {
		p[i] = ternaryDigits(x[i:], 32, inverse)
	}
	for i := range 16 {
		p[32+i] = ternaryDigits(x[160+i:], 16, inverse)
	}
	for i := range 4 {
		v := x[240+i:][:13]
		q := 27*uint32(ternary(v[0], inverse)) + 9*uint32(ternary(v[4], inverse)) + 3*uint32(ternary(v[8], inverse)) + uint32(ternary(v[12], inverse))
		p[48+i] = uint8((3*q*256 + 242) / 243)
	}
})

var encodeTQ2_0 = eachBlock(256, 66, func(p []byte, x, _ []float32) {
	d, inverse := ternaryScale(x)
	putHalf(p[64:], d)
	if inverse > math.MaxFloat32 { // no product is a number: all codes are the middle one
		for i := range 64 {
			p[i] = 0x55
		}
		return
	}
	for i := range 64 {
		v := x[i/32*128+i%32:][:97]
		p[i] = ternary(v[0], inverse) | ternary(v[32], inverse)<<2 | ternary(v[64], inverse)<<4 | ternary(v[96], inverse)<<6
	}
})
