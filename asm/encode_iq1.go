package asm

import (
	"encoding/binary"
	"math"
)

// up and down are the numbers that the levels -1, 0 and 1 of the IQ1 types stand for, twice: see
// lattice.closest.
var (
	up   = [8]float32{-1 + iq1Delta, iq1Delta, 1 + iq1Delta, 0, -1 + iq1Delta, iq1Delta, 1 + iq1Delta}
	down = [8]float32{-1 - iq1Delta, -iq1Delta, 1 - iq1Delta, 0, -1 - iq1Delta, -iq1Delta, 1 - iq1Delta}
)

// An iq1Group is a group of up to 32 elements.
type iq1Group struct {
	x, w   [32]float32
	order  [32]int // of the elements, from the smallest
	levels [32]uint8
	points [4]int16
}

func (g *iq1Group) weigh(x, matrix []float32, mean float32) {
	if matrix != nil {
		importance(g.w[:], x, matrix, mean)
		return
	}
	for i, v := range x {
		g.w[i] = float32(v * v)
	}
}

// sort orders the elements. Equal ones keep their order, as in a stable sort.
func (g *iq1Group) sort(x []float32) {
	for i, v := range x {
		at := i
		for ; at > 0 && x[g.order[at-1]] > v; at-- {
			g.order[at] = g.order[at-1]
		}
		g.order[at] = i
	}
}

// cut gives the elements before the first position level 0, and those from the second on
// level 2. Under a negative scale, 0 and 2 are exchanged.
func (g *iq1Group) cut(n, first, second int, negative bool) {
	for at, i := range g.order[:n] {
		l := uint8(1)
		switch {
		case at < first:
			l = 0
		case at >= second:
			l = 2
		}
		if negative {
			l = 2 - l
		}
		g.levels[i] = l
	}
}

// place finds the grid points of the levels. A point off the grid becomes the nearest
// neighbor under the scale. Each point has its own shift.
func (g *iq1Group) place(kernels *searchKernels, x []float32, scale float32, shift func(point int) *[8]float32) float32 {
	grid, all := iq1Lattice(), true
	copy(g.x[:], x)
	for k := range len(x) / 8 {
		levels := g.levels[8*k:][:8]
		key := grid.key(levels)
		if grid.index[key] < 0 {
			all = false
			key = grid.closest(kernels, key, g.x[8*k:][:8], g.w[8*k:][:8], shift(k), scale)
			copy(levels, grid.levels[grid.index[key]][:])
		}
		g.points[k] = grid.index[key]
	}
	if all {
		return scale
	}
	var qx, qq float32
	for i, l := range g.levels[:len(x)] {
		q := shift(i / 8)[l]
		wq := float32(g.w[i] * q)
		qx += float32(wq * x[i])
		qq += float32(wq * q)
	}
	if qx > 0 && qq > 0 {
		return qx / qq
	}
	return scale
}

// threeBits returns a scale in units of a block's, in three bits.
func threeBits(inverse, scale float32) int {
	return clamp(nearest(float32(0.5*(float32(inverse*scale)-1))), 0, 7)
}

// splitIQ1_S finds the two best positions to cut an ordered group at, with both shifts.
func (g *iq1Group) splitIQ1_S(x []float32) (scale float32, first, second int, shift *[8]float32) {
	var sx, sw [33]float32
	n := len(x)
	for j, i := range g.order[:n] {
		sx[j+1] = sx[j] + float32(g.w[i]*x[i])
		sw[j+1] = sw[j] + g.w[i]
	}
	// What the third part adds depends on the second place alone, and the level of the second
	// part is the same number under both shifts but for its sign.
	shifts := [2]*[8]float32{&up, &down}
	var thirdX, thirdW [2][33]float32
	for s, v := range shifts {
		for b := range n + 1 {
			thirdX[s][b] = float32((sx[n] - sx[b]) * v[2])
			thirdW[s][b] = float32(float32((sw[n]-sw[b])*v[2]) * v[2])
		}
	}
	best := float32(-math.MaxFloat32)
	for a := range n + 1 {
		var firstX, firstW [2]float32
		for s, v := range shifts {
			firstX[s] = float32((sx[a] - sx[0]) * v[0])
			firstW[s] = float32(float32((sw[a]-sw[0])*v[0]) * v[0])
		}
		for b := a; b <= n; b++ {
			x, w := float32((sx[b]-sx[a])*iq1Delta), float32(float32((sw[b]-sw[a])*iq1Delta)*iq1Delta)
			if qx, qq := firstX[0]+x+thirdX[0][b], firstW[0]+w+thirdW[0][b]; qq > 0 && float32(qx*qx) > float32(best*qq) {
				scale = qx / qq
				best = float32(scale * qx)
				first, second, shift = a, b, &up
			}
			if qx, qq := firstX[1]-x+thirdX[1][b], firstW[1]+w+thirdW[1][b]; qq > 0 && float32(qx*qx) > float32(best*qq) {
				scale = qx / qq
				best = float32(scale * qx)
				first, second, shift = a, b, &down
			}
		}
	}
	return scale, first, second, shift
}

var gridIQ1_S gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.iq1
	var scales [8]float32
	var shiftsDown [8]bool
	clear(p)
	mean, most := 2*squares(x)/256, float32(0)
	for b := range scales {
		run := x[32*b:][:32]
		g.weigh(run, part(matrix, 32*b), mean)
		if _, magnitude := largest(run); magnitude < 1e-12 {
			continue
		}
		g.sort(run)
		scale, first, second, shift := g.splitIQ1_S(run)
		if shift == nil {
			continue
		}
		g.cut(32, first, second, scale < 0)
		if scale < 0 {
			scale = -scale
			shift = other(shift)
		}
		scale = g.place(kernels, run, scale, func(int) *[8]float32 { return shift })
		high := uint16(0)
		for k, i := range g.points {
			p[2+4*b+k] = byte(i)
			high |= uint16(i) >> 8 << (3 * k)
		}
		binary.LittleEndian.PutUint16(p[34+2*b:], high)
		scales[b], shiftsDown[b] = scale, shift == &down
		most = max(most, scale)
	}
	if most == 0 {
		return
	}
	d := most / 15
	putHalf(p, d*1.125)
	inverse := 1 / d
	for b, s := range scales {
		l := threeBits(inverse, s)
		if shiftsDown[b] {
			l |= 8
		}
		p[35+2*b] |= byte(l << 4)
	}
}

func other(shift *[8]float32) *[8]float32 {
	if shift == &up {
		return &down
	}
	return &up
}

// shiftsIQ1_M are the shifts of a group's two points, by the code of both.
var shiftsIQ1_M = [4][2]*[8]float32{{&up, &up}, {&up, &down}, {&down, &up}, {&down, &down}}

// splitIQ1_M is splitIQ1_S for groups whose halves have their own shifts. Levels of both
// shifts differ by 1, so the sum over the three parts is the total times the last level,
// minus the sums before the two positions.
func (g *iq1Group) splitIQ1_M(x []float32) (scale float32, first, second, code int) {
	var sx, sw [2][17]float32
	for j, i := range g.order[:16] {
		h := i / 8
		sx[h][j+1] = sx[h][j] + float32(g.w[i]*x[i])
		sx[1-h][j+1] = sx[1-h][j]
		sw[h][j+1] = sw[h][j] + g.w[i]
		sw[1-h][j+1] = sw[1-h][j]
	}
	var allX, allW [2][2]float32 // by shift and half
	var firstW, secondW [2][2][17]float32
	for s, v := range [2]*[8]float32{&up, &down} {
		c1, c2 := float32(v[0]*v[0])-float32(v[1]*v[1]), float32(v[1]*v[1])-float32(v[2]*v[2])
		for h := range 2 {
			allX[s][h], allW[s][h] = float32(sx[h][16]*v[2]), float32(float32(sw[h][16]*v[2])*v[2])
			for at, w := range sw[h] {
				firstW[s][h][at], secondW[s][h][at] = float32(w*c1), float32(w*c2)
			}
		}
	}
	c := cutIQ1_M{best: -math.MaxFloat32, code: -1}
	for a := range 17 {
		up0, up1 := allW[0][0]+firstW[0][0][a], allW[0][1]+firstW[0][1][a]
		down0, down1 := allW[1][0]+firstW[1][0][a], allW[1][1]+firstW[1][1][a]
		for b := a; b <= 16; b++ {
			x0, x1 := sx[0][a]+sx[0][b], sx[1][a]+sx[1][b]
			upX0, upX1, downX0, downX1 := allX[0][0]-x0, allX[0][1]-x1, allX[1][0]-x0, allX[1][1]-x1
			upW0, upW1 := up0+secondW[0][0][b], up1+secondW[0][1][b]
			downW0, downW1 := down0+secondW[1][0][b], down1+secondW[1][1][b]
			c.try(upX0+upX1, upW0+upW1, a, b, 0)
			c.try(upX0+downX1, upW0+downW1, a, b, 1)
			c.try(downX0+upX1, downW0+upW1, a, b, 2)
			c.try(downX0+downX1, downW0+downW1, a, b, 3)
		}
	}
	return c.scale, c.first, c.second, c.code
}

// A cutIQ1_M is the best cut so far.
type cutIQ1_M struct {
	best, scale         float32
	first, second, code int
}

func (c *cutIQ1_M) try(x, q float32, first, second, code int) {
	if q > 0 && float32(x*x) > float32(c.best*q) {
		c.scale = x / q
		c.best = float32(c.scale * x)
		c.first, c.second, c.code = first, second, code
	}
}

var gridIQ1_M gridEncoder = func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32) {
	g := &room.iq1
	var scales [16]float32
	var codes [16]int
	clear(p)
	grid, mean, most := iq1Lattice(), 2*squares(x)/256, float32(0)
	for b := range scales {
		run := x[16*b:][:16]
		g.weigh(run, part(matrix, 16*b), mean)
		if _, magnitude := largest(run); magnitude < 1e-7 {
			continue
		}
		g.sort(run)
		scale, first, second, code := g.splitIQ1_M(run)
		if code < 0 {
			continue
		}
		g.cut(16, first, second, scale < 0)
		if scale < 0 {
			scale, code = -scale, 3-code
		}
		scale = g.place(kernels, run, scale, func(k int) *[8]float32 { return shiftsIQ1_M[code][k] })
		p[2*b], p[2*b+1] = byte(g.points[0]), byte(g.points[1])
		p[32+b] = byte(g.points[0]>>8) | byte(g.points[1]>>8<<4)
		scales[b], codes[b] = scale, code
		most = max(most, scale)
	}
	if most == 0 {
		return
	}
	d := most / 15
	inverse := 1 / d
	var qx, qq float32
	for b, s := range scales {
		l := threeBits(inverse, s)
		word := p[48+b/4*2:]
		binary.LittleEndian.PutUint16(word, u16(word)|uint16(l<<(3*(b%4))))
		p[32+b] |= [4]byte{0, 0x80, 0x08, 0x88}[codes[b]]
		run := x[16*b:][:16]
		g.weigh(run, part(matrix, 16*b), mean)
		for k := range 2 {
			index := int(p[2*b+k]) | int(p[32+b])<<(8-4*k)&0x700
			for e, level := range grid.levels[index] {
				q := float32(shiftsIQ1_M[codes[b]][k][level] * float32(2*l+1))
				wq := float32(g.w[8*k+e] * q)
				qx += float32(wq * run[8*k+e])
				qq += float32(wq * q)
			}
		}
	}
	if qq > 0 {
		d = qx / qq
	}
	bits := FloatToHalf(d * 1.1125)
	for i := range 4 {
		p[49+2*i] |= byte(bits>>(4*i)&15) << 4
	}
}
