package asm

// A gridSearch finds scale and levels of a group whose points lie on a grid, with |x| ~
// scale*(2*level+1).
type gridSearch struct {
	lattice func() *lattice
	elems   int // of a point
	top     int // levels
	tries   int // on each side of the scale that spans the group
	step    float32
	tiny    float32 // a group whose magnitude is below it is zeros
	even    bool    // the number of negative signs in eight elements must be even
	// positive says that the search begins with the scale of searchPositive and ends with
	// all points; all says that it ends with all points if one was off the grid.
	positive, all bool
}

// A gridGroup is a group of up to 32 elements, and its result. The fields before points
// are memory of kernels, which know their offsets.
type gridGroup struct {
	x, w, root [32]float32 // magnitudes, weights and their roots
	inverses   [32]float32 // of the scales that are tried
	keys       [256]uint32 // of each try's points; see at
	sums       [64]float32 // of each try; see sumsAt
	points     [8]int      // keys
	signs      [4]uint8
	scale      float32
	zero       bool // the group is zeros
}

// trialEight is how many tries kernels take in one step.
const trialEight = 8

// at returns where the key of a try's point is stored, if each try has this number of points.
func (g *gridGroup) at(try, point, points int) *uint32 {
	return &g.keys[(try/trialEight*points+point)*trialEight+try%trialEight]
}

// sumsAt returns the two sums of a try, see fit.
func (g *gridGroup) sumsAt(try int) (qx, qq *float32) {
	at := try/trialEight*2*trialEight + try%trialEight
	return &g.sums[at], &g.sums[at+trialEight]
}

// split sets magnitudes and signs. If the number of signs must be even, it flips the sign
// that costs the least.
func (s *gridSearch) split(g *gridGroup, x []float32) {
	for k := range len(x) / 8 {
		signs, odd := uint8(0), false
		for i := range 8 {
			v := x[8*k+i]
			if !(v >= 0) {
				v, odd = -v, !odd
				signs |= 1 << i
			}
			g.x[8*k+i] = v
		}
		if s.even && odd {
			cheap := 8 * k
			least := float32(float32(g.w[cheap]*x[cheap]) * x[cheap])
			for i := 8*k + 1; i < 8*k+8; i++ {
				if cost := float32(float32(g.w[i]*x[i]) * x[i]); cost < least {
					least, cheap = cost, i
				}
			}
			g.x[cheap] = -g.x[cheap]
			signs ^= 1 << (cheap % 8)
		}
		g.signs[k] = signs
		if s.even {
			g.signs[k] &= 127
		}
	}
}

// key returns the key of the levels nearest to the magnitudes of a point.
func (s *gridSearch) key(g *lattice, inverse float32, x []float32) (key int) {
	for e, v := range x {
		l := clamp(nearest(float32(0.5*(float32(inverse*v)-1))), 0, s.top-1)
		key |= l << (g.bits * e)
	}
	return key
}

// fit returns the two sums whose quotient is the best scale for some points.
func (s *gridSearch) fit(g *gridGroup, grid *lattice, points int, point func(i int) int) (qx, qq float32) {
	for k := range points {
		key := point(k)
		for e := range s.elems {
			i := k*s.elems + e
			w, q := g.w[i], float32(2*grid.level(key, e)+1)
			qx += float32(float32(w*g.x[i]) * q)
			qq += float32(float32(w*q) * q)
		}
	}
	return qx, qq
}

// gridLevels are the values of levels of two and of three bits.
var gridLevels = [4][8]float32{2: {1, 3, 5, 7, 1, 3, 5, 7}, 3: {1, 3, 5, 7, 9, 11, 13, 15}}

// settle returns a key on the grid, that of the nearest neighbor under a scale if key is
// not, and whether it was.
func (s *gridSearch) settle(kernels *searchKernels, g *gridGroup, grid *lattice, point, key int, scale float32) (int, bool) {
	if grid.index[key] >= 0 {
		return key, true
	}
	at, end := point*s.elems, (point+1)*s.elems
	return grid.closest(kernels, key, g.x[at:end], g.root[at:end], &gridLevels[grid.bits], scale), false
}

// find searches a group of n elements, with weights and magnitudes set.
func (s *gridSearch) find(kernels *searchKernels, g *gridGroup, n int) {
	grid := s.lattice()
	clear(g.points[:])
	g.scale, g.zero = 0, true
	span := g.x[0]
	for _, v := range g.x[1:n] {
		span = max(span, v)
	}
	if span < s.tiny || span == 0 {
		return
	}
	widest := float32(2*s.top - 1)
	scale := span / widest
	if s.positive {
		var codes [32]uint8
		scale = searchPositive(codes[:n], g.x[:n], g.w[:n], s.top+1)
		if span = scale * float32(s.top); span <= 0 {
			return
		}
	}
	points, tries := n/s.elems, 2*s.tries+1
	for t := range (tries + trialEight - 1) &^ (trialEight - 1) { // what fills up is not looked at
		g.inverses[t] = (widest + float32(float32(t-s.tries)*s.step)) / span
	}
	off := s.tryAll(kernels, g, grid, points, tries)
	best, missed := float32(0), uint8(0)
	if s.all {
		missed = ^missed
	}
	for t := range tries {
		x, q := g.sumsAt(t)
		if qx, qq := *x, *q; qq > 0 && float32(qx*qx) > float32(best*qq) {
			scale = qx / qq
			best = float32(scale * qx)
			missed = off[t]
			for k := range points {
				g.points[k] = int(*g.at(t, k, points))
			}
		}
	}
	s.finish(kernels, g, grid, points, scale, missed)
}

// tryAll finds the points of each try and their sums. It returns which points were off the
// grid.
func (s *gridSearch) tryAll(kernels *searchKernels, g *gridGroup, grid *lattice, points, tries int) (off [32]uint8) {
	eights := (tries + trialEight - 1) / trialEight
	if kernels.levels != nil {
		kernels.levels(&g.x[0], points, s.elems, grid.bits, s.top-1, eights)
	}
	for t := range tries {
		inverse := g.inverses[t]
		here := 1 / inverse
		for k := range points {
			at := g.at(t, k, points)
			if kernels.levels == nil {
				*at = uint32(s.key(grid, inverse, g.x[k*s.elems:][:s.elems]))
			}
			key, is := s.settle(kernels, g, grid, k, int(*at), here)
			if !is {
				off[t] |= 1 << k
				*at = uint32(key)
			}
		}
		if kernels.fits == nil {
			qx, qq := g.sumsAt(t)
			*qx, *qq = s.fit(g, grid, points, func(k int) int { return int(*g.at(t, k, points)) })
		}
	}
	if kernels.fits != nil {
		kernels.fits(&g.x[0], points, s.elems, grid.bits, eights)
	}
	return off
}

// finish finds the points again under the final scale: those that were off the grid, or
// all.
func (s *gridSearch) finish(kernels *searchKernels, g *gridGroup, grid *lattice, points int, scale float32, off uint8) {
	off &= 1<<points - 1
	if (s.positive || off != 0) && scale > 0 {
		inverse := 1 / scale
		for k := range points {
			if off>>k&1 == 1 || s.all || s.positive {
				key := s.key(grid, inverse, g.x[k*s.elems:][:s.elems])
				g.points[k], _ = s.settle(kernels, g, grid, k, key, scale)
			}
		}
		if qx, qq := s.fit(g, grid, points, func(k int) int { return g.points[k] }); qq > 0 {
			scale = qx / qq
		}
	}
	if scale < 0 {
		scale = -scale
		for k := range g.signs {
			g.signs[k] = ^g.signs[k]
			if s.even {
				g.signs[k] &= 127
			}
		}
	}
	g.scale, g.zero = scale, false
}

// weigh sets the weights of a group: from the matrix, or with plain.
func (g *gridGroup) weigh(x, matrix []float32, mean float32, plain func(v float32) float32) {
	if matrix != nil {
		importance(g.w[:], x, matrix, mean)
	} else {
		for i, v := range x {
			g.w[i] = plain(v)
		}
	}
	for i := range x {
		g.root[i] = sqrt32(g.w[i])
	}
}

func squared(v float32) float32 { return float32(v * v) }

// fourBitScales returns the scale of a block, and sets each group's in units of it.
func fourBitScales(scales []float32, out []uint8) (d float32) {
	most := float32(0)
	for _, s := range scales {
		most = max(most, s)
	}
	if most == 0 {
		return 0
	}
	d = most / 31
	inverse := 1 / d
	for i, s := range scales {
		out[i] = uint8(clamp(nearest(float32(0.5*(float32(inverse*s)-1))), 0, 15))
	}
	return d
}

// noKernels is what the scalar functions search with.
var noKernels searchKernels

// A gridEncoder writes a block; room is scratch memory.
type gridEncoder func(kernels *searchKernels, room *searched, p []byte, x, matrix []float32)

// row returns the scalar encoder of rows.
func (encode gridEncoder) row(size int) rowEncoder {
	return func(dst []byte, src, matrix []float32) { encode.blocks(&noKernels, size, dst, src, matrix) }
}

// lanes returns the encoder of rows with kernels.
func (encode gridEncoder) lanes(size int) func(o *Ops, dst []byte, src, matrix []float32) {
	return func(o *Ops, dst []byte, src, matrix []float32) { encode.blocks(&o.search, size, dst, src, matrix) }
}

func (encode gridEncoder) blocks(kernels *searchKernels, size int, dst []byte, src, matrix []float32) {
	room := searches.Get().(*searched)
	defer searches.Put(room)
	for at := 0; at < len(src); at += 256 {
		encode(kernels, room, dst[at/256*size:][:size], src[at:][:256], columns(matrix, at, 256))
	}
}
