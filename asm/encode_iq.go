package asm

// A gridSearch finds scale and levels of a group whose points lie on a grid, with
// |x| ~ scale*(2*level+1).
type gridSearch struct {
	lattice func() *lattice
	elems   int // of a point
	top     int // levels
	tries   int // on each side of the scale that spans the group
	step    float32
	tiny    float32 // a group whose magnitude is below it is zeros
	even    bool    // an even number of signs is negative in eight elements
	// positive says that the search begins with the scale of searchPositive, and
	// ends with all points, all with those of all points where any was off the grid.
	positive, all bool
}

// A gridGroup is a group of 32 elements or less, and what was found.
type gridGroup struct {
	levels, trial [32]uint8
	x, w, root    [32]float32 // magnitudes, weights and their roots
	signs         [4]uint8
	scale         float32
	zero          bool // the group is zeros
}

// split takes magnitudes and signs. Where their number must be even, the element
// whose sign costs the least gets the other one.
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

// level is the nearest level of a magnitude.
func (s *gridSearch) level(inverse, x float32) uint8 {
	return uint8(clamp(nearest(float32(0.5*(float32(inverse*x)-1))), 0, s.top-1))
}

// fit is the sums of which the quotient is the best scale for some levels.
func (g *gridGroup) fit(levels []uint8) (qx, qq float32) {
	for i, l := range levels {
		w, q := g.w[i], float32(2*l+1)
		qx += float32(float32(w*g.x[i]) * q)
		qq += float32(float32(w*q) * q)
	}
	return qx, qq
}

// find searches a group of n elements, whose weights and magnitudes are there.
func (s *gridSearch) find(g *gridGroup, n int) {
	grid, levels, trial := s.lattice(), g.levels[:n], g.trial[:n]
	clear(levels)
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
		scale = searchPositive(trial, g.x[:n], g.w[:n], s.top+1)
		if span = scale * float32(s.top); span <= 0 {
			return
		}
	}
	var on, onTrial [8]bool
	for k := range on {
		on[k] = !s.all
	}
	best := float32(0)
	for try := -s.tries; try <= s.tries; try++ {
		inverse := (widest + float32(float32(try)*s.step)) / span
		here := 1 / inverse
		for k := range n / s.elems {
			at, end := k*s.elems, (k+1)*s.elems
			for i := at; i < end; i++ {
				trial[i] = s.level(inverse, g.x[i])
			}
			onTrial[k] = grid.settle(trial[at:end], g.x[at:end], g.root[at:end], here)
		}
		qx, qq := g.fit(trial)
		if qq > 0 && float32(qx*qx) > float32(best*qq) {
			scale = qx / qq
			best = float32(scale * qx)
			copy(levels, trial)
			on = onTrial
		}
	}
	s.finish(g, grid, levels, scale, on)
}

// finish finds the points anew under the scale, those that were off the grid or all.
func (s *gridSearch) finish(g *gridGroup, grid *lattice, levels []uint8, scale float32, on [8]bool) {
	off := s.positive
	for _, is := range on[:len(levels)/s.elems] {
		off = off || !is
	}
	if off && scale > 0 {
		inverse := 1 / scale
		for k := range len(levels) / s.elems {
			if on[k] && !s.all && !s.positive {
				continue
			}
			at, end := k*s.elems, (k+1)*s.elems
			for i := at; i < end; i++ {
				levels[i] = s.level(inverse, g.x[i])
			}
			grid.settle(levels[at:end], g.x[at:end], g.root[at:end], scale)
		}
		if qx, qq := g.fit(levels); qq > 0 {
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

// weigh sets the weights of a group: those of the matrix, or as plain says.
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

// fourBitScales gives the scale of a block, and each group's in its units.
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
