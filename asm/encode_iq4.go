package asm

// iq4Bounds are halfway between the values; all are exact.
var iq4Bounds = [15]float32{-115.5, -93.5, -74, -57, -42, -28.5, -16, -4.5, 7, 19, 31.5, 45.5, 61, 79, 101}

// nearestIQ4 is the code whose value is nearest to x; halfway it is the larger one,
// and of NaN the largest.
func nearestIQ4(x float32) uint8 {
	c := 0
	for step := 8; step > 0; step >>= 1 {
		if !(x < iq4Bounds[c+step-1]) {
			c += step
		}
	}
	return uint8(c)
}

// scaleIQ4 searches the scale of 32 numbers by weighted least squares: the one that
// puts the largest magnitude at the first value, then fifteen around it.
func scaleIQ4(x, weights []float32) float32 {
	top, magnitude := largest(x)
	if magnitude < tinyGroup {
		return 0
	}
	sums := func(inverse float32) (qx, qq float32) {
		for i, v := range x {
			q := iq4Values[nearestIQ4(float32(inverse*v))]
			wq := float32(weights[i] * q)
			qx += float32(wq * v)
			qq += float32(wq * q)
		}
		return qx, qq
	}
	qx, qq := sums(1 / (-top / iq4Values[0]))
	d := quotient(qx, qq)
	best := float32(d * qx)
	for step := -7; step <= 7; step++ {
		qx, qq := sums((float32(step) + iq4Values[0]) / top)
		if qq > 0 && float32(qx*qx) > float32(best*qq) {
			d = qx / qq
			best = float32(d * qx)
		}
	}
	return d
}

// scalesIQ4 searches the scales of a block's groups of 32.
func scalesIQ4(scales, x, matrix []float32) {
	var w [32]float32
	mean := float32(squares(x) * (2 / float32(len(x))))
	for g := range scales {
		run := x[32*g:][:32]
		if matrix != nil {
			importance(w[:], run, matrix[32*g:], mean)
		} else {
			for i, v := range run {
				w[i] = float32(v * v)
			}
		}
		scales[g] = scaleIQ4(run, w[:])
	}
}

// codesIQ4 stores the codes nearest to x under a scale.
func codesIQ4(dst []byte, x []float32, scale float32) {
	var codes [32]uint8
	inverse := reciprocal(scale)
	for i, v := range x {
		codes[i] = nearestIQ4(float32(inverse * v))
	}
	nibbles(dst, codes[:])
}

var encodeIQ4_NL = eachBlock(32, 18, func(p []byte, x, matrix []float32) {
	var scale [1]float32
	scalesIQ4(scale[:], x, matrix)
	putHalf(p, scale[0])
	codesIQ4(p[2:], x, scale[0])
})

// d is -1/32 of the scale of largest magnitude, the others integers of six bits
// times d before it is rounded.
var encodeIQ4_XS = eachBlock(256, 136, func(p []byte, x, matrix []float32) {
	var scales [8]float32
	scalesIQ4(scales[:], x, matrix)
	top, _ := largest(scales[:])
	d := -top / 32
	inverse := reciprocal(d)
	putHalf(p, d)
	clear(p[2:8])
	for g, s := range scales {
		l := clamp(nearest(float32(inverse*s)), -32, 31)
		codesIQ4(p[8+16*g:][:16], x[32*g:][:32], d*float32(l))
		l += 32
		p[2+g/4] |= byte(l >> 4 << (g % 4 * 2))
		p[4+g/2] |= byte(l & 15 << (g % 2 * 4))
	}
})
