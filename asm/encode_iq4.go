package asm

// iq4Bounds are midway between the values; all are exact.
var iq4Bounds = [15]float32{-115.5, -93.5, -74, -57, -42, -28.5, -16, -4.5, 7, 19, 31.5, 45.5, 61, 79, 101}

// nearestIQ4 returns the code of the value nearest to x: midway the larger one, and for
// NaN the largest.
func nearestIQ4(x float32) uint8 {
	c := 0
	for step := 8; step > 0; step >>= 1 {
		if !(x < iq4Bounds[c+step-1]) {
			c += step
		}
	}
	return uint8(c)
}

// scaleIQ4 finds the scale of 32 numbers by weighted least squares, among the one that
// maps the largest magnitude to the first value and fifteen around it.
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

// scalesIQ4 finds the scales of a block's groups of 32.
func scalesIQ4(scales, x, matrix []float32) {
	var w [32]float32
	mean := meanIQ4(x, matrix)
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

// meanIQ4 returns twice the mean of a block's squares, which only a matrix needs.
func meanIQ4(x, matrix []float32) float32 {
	if matrix == nil {
		return 0
	}
	return float32(squares(x) * (2 / float32(len(x))))
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

var encodeIQ4_XS = eachBlock(256, 136, func(p []byte, x, matrix []float32) {
	var scales [8]float32
	scalesIQ4(scales[:], x, matrix)
	headIQ4_XS(p, &scales)
	for g, s := range scales {
		codesIQ4(p[8+16*g:][:16], x[32*g:][:32], s)
	}
})

// headIQ4_XS writes the bytes before the codes, and rounds the scales. d is -1/32 of the
// scale of largest magnitude; the others are six-bit integers times the unrounded d.
func headIQ4_XS(p []byte, scales *[8]float32) {
	top, _ := largest(scales[:])
	d := -top / 32
	inverse := reciprocal(d)
	putHalf(p, d)
	clear(p[2:8])
	for g, s := range scales {
		l := clamp(nearest(float32(inverse*s)), -32, 31)
		scales[g] = d * float32(l)
		l += 32
		p[2+g/4] |= byte(l >> 4 << (g % 4 * 2))
		p[4+g/2] |= byte(l & 15 << (g % 2 * 4))
	}
}

// iq4Table has the values and the bounds between them as kernels need them, counted down
// from zero.
var iq4Table = func() (t [56]float32) {
	for k, v := range iq4Values {
		t[k&8+(-k&7)] = v
	}
	for k := range 8 {
		if k < 4 {
			t[16+(-k&7)] = iq4Bounds[4*k+1]
		}
		t[24+(-k&7)] = iq4Bounds[2*k]
		t[32+k], t[40+k], t[48+k] = iq4Bounds[7], iq4Bounds[3], iq4Bounds[11]
	}
	return t
}()

// searchIQ4 finds the scales of up to sixteen groups with kernels; block is the number of
// elements of a block.
func (l *lanes) searchIQ4(o *Ops, x, matrix []float32, block int) {
	l.trials[0] = -iq4Values[0]
	for step := -7; step <= 7; step++ {
		l.trials[8+step] = float32(step) + iq4Values[0]
	}
	o.load(&l.x, x, 32)
	for i := 0; i < len(x); i += 32 {
		if i%block == 0 || matrix == nil {
			l.mean[i/32] = meanIQ4(x[i/block*block:][:block], matrix)
		} else {
			l.mean[i/32] = l.mean[i/32-1]
		}
	}
	l.weigh(o, bySquare, matrix, 32)
	o.search.codebook(&l.x[0], &iq4Table[0], 32, 15)
	for g := range len(x) / 32 {
		if l.high[g] < tinyGroup {
			l.scale[g] = 0
		}
	}
}

func lanesIQ4_NL(o *Ops, dst []byte, src, matrix []float32) {
	room := searches.Get().(*searched)
	defer searches.Put(room)
	l := &room.lanes
	for at := 0; at < len(src); at += 16 * 32 {
		x, p := src[at:min(len(src), at+16*32)], dst[at/32*18:]
		l.searchIQ4(o, x, columns(matrix, at, len(x)), 32)
		for g := range len(x) / 32 {
			putHalf(p[18*g:], l.scale[g])
			l.scale[g] = reciprocal(l.scale[g])
		}
		o.search.codes(&p[2], &x[0], &l.scale[0], &iq4Table[0], 18, len(x)/32)
	}
}

func lanesIQ4_XS(o *Ops, dst []byte, src, matrix []float32) {
	room := searches.Get().(*searched)
	defer searches.Put(room)
	l := &room.lanes
	for at := 0; at < len(src); at += 16 * 32 {
		x, p := src[at:min(len(src), at+16*32)], dst[at/256*136:]
		l.searchIQ4(o, x, columns(matrix, at, len(x)), 256)
		for b := range len(x) / 256 {
			scales := (*[8]float32)(l.scale[8*b:])
			headIQ4_XS(p[136*b:], scales)
			for g, s := range scales {
				scales[g] = reciprocal(s)
			}
			o.search.codes(&p[136*b+8], &x[256*b], &scales[0], &iq4Table[0], 16, 8)
		}
	}
}
