package scaled

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// tiny returns the smallest normal number of a type.
func tiny(d asm.Type) float32 {
	if d == asm.F16 {
		return 0x1p-14
	}
	return 0x1p-126
}

// nonzero returns scale, or the machine epsilon if it is 0.
func nonzero(scale float32, d asm.Type) float32 {
	if scale == 0 {
		return epsilon(d)
	}
	return scale
}

// span returns the smallest and the largest number.
func span(x []float32) (low, high float32) {
	low, high = x[0], x[0]
	for _, v := range x[1:] {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// WholeRule encodes under the scale of the matrix. TorchAO divides in float32.
func WholeRule(g group, x []float32) group {
	if g.f.E5M2 {
		for i, v := range x {
			g.codes[i] = ToE5M2(min(max(v/g.global, -57344), 57344))
		}
		g.scale = g.global
		return g
	}
	asm.Best().E4M3Over(g.codes[:len(x)], x, g.global, g.d)
	g.scale = g.global
	return g
}

// ExponentRule is that of compressed-tensors' MX formats: the group's largest magnitude
// is rounded to a power of two (up from 7/4 of one), and the scale maps that to the
// largest power of two of a code.
func ExponentRule(g group, x []float32) group {
	shift := 2
	if g.f.Bits == 8 {
		shift = 8
	}
	e := max(roundedExponent(g.most, g.d)-shift, -127)
	if g.scale = round(g.d, power(e)); g.scale == 0 { // float16 has no number as small
		g.scale = 1
	}
	if g.f.Bits == 8 {
		asm.Best().E4M3Over(g.codes, x, g.scale, g.d)
		return g
	}
	asm.Best().E2M1Over(g.codes, x, g.scale, g.d)
	return g
}

// power returns 2^e, for e of at least -127.
func power(e int) float32 { return float32(math.Ldexp(1, e)) }

// roundedExponent returns the exponent of a magnitude rounded to a power of two by its
// bits in the type d. It is 0 in bits for subnormal numbers.
func roundedExponent(x float32, d asm.Type) int {
	if d == asm.F16 && x < 0x1p-14 {
		if x < 0x1.8p-15 {
			return -1 << 10
		}
		return -14
	}
	bits := (math.Float32bits(x) + 1<<21) >> 23
	if bits == 0 {
		return -1 << 10
	}
	return int(bits) - 127
}

// DividedRule is that of compressed-tensors: the scale, multiplied by the global scale, is
// rounded to E4M3.
func DividedRule(g group, x []float32) group {
	local := float32(g.global * round(g.d, g.most/6))
	if g.scale = FromE4M3(ToE4M3(local)); g.scale == 0 {
		g.scale = 0.125
	}
	asm.Best().E2M1Over(g.codes, x, g.scale/g.global, asm.F32)
	return g
}

// MultipliedRule computes in float32, and gives a group of zeros the scale 1.
func MultipliedRule(g group, x []float32) group {
	local := g.most / float32(6*g.global)
	if local == 0 || local != local {
		local = 1
	}
	g.scale = FromE4M3(ToE4M3(min(max(local, 0x1p-9), 448)))
	scale := float32(g.scale * g.global)
	if scale != 0 {
		asm.Best().E2M1Over(g.codes, x, scale, asm.F32)
		return g
	}
	for i, v := range x {
		if v != 0 {
			v /= scale
		}
		g.codes[i] = asm.ToE2M1(v)
	}
	return g
}

// LogarithmRule takes the smallest power of two with which no number exceeds 448,
// according to a logarithm in float32.
func LogarithmRule(g group, x []float32) group {
	e := float32(-127)
	if most := g.most / 448; most > 0 {
		e = max(e, float32(math.Ceil(float64(float32(math.Log2(float64(most)))))))
	}
	g.scale = power(int(e))
	asm.Best().E4M3Times(g.codes, x, power(-int(e)))
	return g
}

// UpwardRule is that of Triton's downcast_to_mxfp, which the gpt-oss code of OpenAI and
// transformers calls: the smallest power of two with which no number exceeds 6, by the
// bits of the quotient in float32. Zeros keep their sign.
func UpwardRule(g group, x []float32) group {
	g.scale = math.Float32frombits((math.Float32bits(g.most/6) + 0x7FFFFF) &^ 0x7FFFFF)
	factor := float32(0)
	if g.scale > 0 {
		factor = 1 / g.scale
	}
	for i, v := range x {
		v = float32(v * factor)
		g.codes[i] = byte(math.Float32bits(v)>>31)<<3 | upward(abs(v))
	}
	return g
}

// PointRule is compressed-tensors' asymmetric rule: the range includes 0, and each step
// is rounded to the type of the weights.
func PointRule(g group, x []float32) group {
	low, high := span(x)
	low, high = min(low, 0), max(high, 0)
	steps, half := float32(int(1)<<g.f.Bits-1), float32(int(1)<<g.f.Bits/2)
	scale := round(g.d, round(g.d, high-low)/steps)
	zero := float32(0) // torch divides 0 by 0, and stores NaN as an integer
	switch {
	case scale != 0:
		zero = round(g.d, -half-round(g.d, low/scale))
	case low < 0:
		zero = half - 1
	}
	zero = float32(nearest(zero, -half, half-1))
	g.scale = nonzero(scale, g.d)
	for i, v := range x {
		v = round(g.d, round(g.d, v/g.scale)+zero)
		g.codes[i] = byte(nearest(v, -half, half-1) + int32(half))
	}
	g.second = zero + half
	return g
}

// MiddleRule is GPTQModel's symmetric rule, in float32; scales are stored in float16. If no
// number of a group is negative, its range begins at 0, although the zero point is still
// in the middle.
func MiddleRule(g group, x []float32) group {
	low, high := span(x)
	most := max(abs(min(low, 0)), high, 0)
	steps, zero := float32(int(1)<<g.f.Bits-1), float32(int(1)<<g.f.Bits/2)
	from := float32(0)
	switch {
	case most == 0:
		from, most = -1, 1
	case low < 0:
		from = -most
	}
	scale := (most - from) / steps
	shift := float32(zero * scale)
	for i, v := range x {
		code := min(max(toWhole(v/scale)+zero, 0), steps)
		back := round(g.d, scale*(code-zero)) // what the library's packer gets
		g.codes[i] = byte(nearest((back+shift)/scale, 0, steps))
	}
	g.scale, g.second = round(asm.F16, scale), zero
	return g
}

// toWhole rounds to the nearest integer, ties to even.
func toWhole(x float32) float32 { return float32(math.RoundToEven(float64(x))) }

// HalfRule is AutoAWQ's, every step in float16.
func HalfRule(g group, x []float32) group {
	half := func(x float32) float32 { return round(asm.F16, x) }
	low, high := span(x)
	scale := half(max(half(high-low), half(1e-5)) / 15)
	zero := min(max(-toWhole(half(low/scale)), 0), 15)
	for i, v := range x {
		g.codes[i] = byte(nearest(half(toWhole(half(v/scale))+zero), 0, 15))
	}
	g.scale, g.second = scale, zero
	return g
}

// AffineRule is MLX's, in float32. The end of the range with the larger magnitude is
// stored exactly, so scales may be negative.
func AffineRule(g group, x []float32) group {
	steps := float32(int(1)<<g.f.Bits - 1)
	low, high := span(x)
	below := abs(low) > abs(high)
	scale, edge := max((high-low)/steps, 1e-7), low
	if !below {
		scale, edge = -scale, high
	}
	bias := float32(0)
	if q := toWhole(edge / scale); q != 0 {
		scale, bias = edge/q, edge
	}
	for i, v := range x {
		g.codes[i] = byte(min(max(toWhole((v-bias)/scale), 0), steps))
	}
	g.scale, g.second = round(g.d, scale), round(g.d, bias)
	return g
}

// FloatRule is that of MLX's small floats on a CPU, in the type of the weights.
// Exponents below the range of a byte become the smallest one.
func FloatRule(g group, x []float32) group {
	most := float32(6)
	if g.f.Bits == 8 {
		most = 448
	}
	scale := round(g.d, g.most/most)
	switch {
	case g.f.Scale == Float8:
		scale = FromE4M3(ToE4M3(scale))
	case scale == 0:
		scale = 1
	default:
		scale = power(max(upExponent(scale), -127))
	}
	g.scale = scale
	switch {
	case scale == 0:
		clear(g.codes)
	case g.f.Bits == 8:
		asm.Best().E4M3Over(g.codes, x, scale, g.d)
	default:
		for i, v := range x {
			g.codes[i] = nearestOfTable(round(g.d, v/scale), g.d)
		}
	}
	return g
}

// upExponent returns the base-2 logarithm of x in float32, rounded up.
func upExponent(x float32) int {
	return int(math.Ceil(float64(float32(math.Log2(float64(x))))))
}

// nearestOfTable returns the first code whose value is nearest, with differences rounded
// to d. If rounding makes all differences equal, that is code 0.
func nearestOfTable(x float32, d asm.Type) byte {
	if abs(x) < 32 {
		code := downward(abs(x))
		if x < 0 && code > 0 {
			code |= 8
		}
		return code
	}
	best, code := float32(math.Inf(1)), byte(0)
	for i, v := range e2m1 {
		if far := abs(round(d, x-v)); far < best {
			best, code = far, byte(i)
		}
	}
	return code
}
