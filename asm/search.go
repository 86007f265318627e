package asm

// The searches of ggml's encoders: each looks for the scale (and minimum) of one
// group under which its numbers, as integers, come nearest to what they were. The
// names in brackets are ggml's; every sum keeps its order.

// tinyGroup is the magnitude below which a group counts as zeros.
const tinyGroup = 1e-15

// searchSymmetric finds scale and codes with x ~ scale*(code-half), codes 0 to 2*half-1,
// by least squares under the weights, or x^2 if nil [make_qx_quants]. It tries the scale
// that maps the largest magnitude to -half, and 18 others nearby.
func searchSymmetric(codes []int8, x, weights []float32, half int) float32 {
	top, magnitude := largest(x)
	if magnitude < tinyGroup {
		clear(codes)
		return 0
	}
	low, high := -half, half-1
	sums := func(inverse float32) (xl, ll float32) {
		for i, v := range x {
			l, w := float32(clamp(nearest(float32(inverse*v)), low, high)), float32(v*v)
			if weights != nil {
				w = weights[i]
			}
			xl += float32(float32(w*v) * l)
			ll += float32(float32(w*l) * l)
		}
		return xl, ll
	}
	take := func(inverse float32) {
		for i, v := range x {
			codes[i] = int8(clamp(nearest(float32(inverse*v)), low, high) + half)
		}
	}
	inverse := -float32(half) / top
	take(inverse)
	xl, ll := sums(inverse)
	scale := float32(0)
	if ll != 0 {
		scale = xl / ll
	}
	best := float32(scale * xl)
	for step := -9; step <= 9; step++ {
		if step == 0 {
			continue
		}
		inverse = -(float32(half) + float32(0.1*float32(step))) / top
		xl, ll = sums(inverse)
		if ll > 0 && float32(xl*xl) > float32(best*ll) {
			take(inverse)
			scale = xl / ll
			best = float32(scale * xl)
		}
	}
	return scale
}

// searchByMoves is searchSymmetric for Q3_K without a matrix: weights are x^2, and from
// the same first scale it moves single codes as long as that helps [make_q3_quants].
func searchByMoves(codes []int8, x []float32, half int) float32 {
	top, magnitude := largest(x)
	if magnitude < tinyGroup {
		clear(codes)
		return 0
	}
	inverse := -float32(half) / top
	var xl, ll float32
	for i, v := range x {
		l := clamp(nearest(float32(inverse*v)), -half, half-1)
		codes[i] = int8(l)
		w := float32(v * v)
		xl += float32(float32(w*v) * float32(l))
		ll += float32(float32(w*float32(l)) * float32(l))
	}
	weigh := func(i int) float32 { return float32(x[i] * x[i]) }
	improve(codes, x, &xl, &ll, moving{weigh, -half, half - 1, false})
	for i := range codes {
		codes[i] += int8(half)
	}
	return quotient(xl, ll)
}

// A moving says how single codes are moved: with which weights, in which range, and
// whether only if the other codes have a nonzero sum of squares.
type moving struct {
	weight    func(i int) float32
	low, high int
	strict    bool
}

// improve moves one code at a time to the nearest under the scale that the others give, as
// long as the fit xl^2/ll grows: five rounds at most.
func improve[T int8 | uint8](codes []T, x []float32, xl, ll *float32, m moving) {
	for range 5 {
		moved := false
		for i, v := range x {
			w, l := m.weight(i), float32(codes[i])
			oxl := *xl - float32(float32(w*v)*l)
			oll := *ll - float32(float32(w*l)*l)
			if !(oxl > 0) || m.strict && !(oll > 0) {
				continue
			}
			c := min(m.high, nearest(float32(v*oll)/oxl))
			if m.low < 0 {
				c = max(m.low, c)
			}
			if c == int(codes[i]) {
				continue
			}
			oxl += float32(float32(w*v) * float32(c))
			oll += float32(float32(w*float32(c)) * float32(c))
			if (m.strict || oll > 0) && float32(float32(oxl*oxl)**ll) > float32(float32(*xl**xl)*oll) {
				codes[i], *xl, *ll, moved = T(c), oxl, oll, true
			}
		}
		if !moved {
			return
		}
	}
}

func quotient(a, b float32) float32 {
	if b > 0 {
		return a / b
	}
	return 0
}

// An affineSearch finds x ~ scale*code - minimum, codes 0 to top, minimum >= 0. It tries
// the scale that spans the group and steps+1 others, each with the minimum that fits its
// codes best [make_qkx2_quants, make_qkx3_quants].
type affineSearch struct {
	top         int
	first, step float32 // added to top in the trials
	steps       int
	absolute    bool // errors count by magnitude, not by square
}

func (s *affineSearch) find(codes, scratch []uint8, x, weights []float32) (scale, minimum float32) {
	low, high, sw, sx := spread(x, weights)
	if high == low {
		clear(codes)
		return 0, -low
	}
	inverse := float32(s.top) / (high - low)
	scale = 1 / inverse
	for i, v := range x {
		codes[i] = s.code(inverse, v, low)
	}
	least := s.error(codes, x, weights, scale, low)
	for step := range s.steps + 1 {
		inverse = (s.first + float32(s.step*float32(step)) + float32(s.top)) / (high - low) // of the best so far
		var sl, sll, sxl float32
		for i, v := range x {
			c := s.code(inverse, v, low)
			scratch[i] = c
			l, w := float32(c), weights[i]
			sl += float32(w * l)
			sll += float32(float32(w*l) * l)
			sxl += float32(float32(w*l) * v)
		}
		d := float32(sw*sll) - float32(sl*sl)
		if !(d > 0) {
			continue
		}
		sc := (float32(sw*sxl) - float32(sx*sl)) / d
		lo := (float32(sll*sx) - float32(sl*sxl)) / d
		if lo > 0 {
			lo, sc = 0, sxl/sll
		}
		if e := s.error(scratch, x, weights, sc, lo); e < least {
			copy(codes, scratch)
			least, scale, low = e, sc, lo
		}
	}
	return scale, -low
}

func (s *affineSearch) code(inverse, v, low float32) uint8 {
	return uint8(clamp(nearest(float32(inverse*(v-low))), 0, s.top))
}

func (s *affineSearch) error(codes []uint8, x, weights []float32, scale, low float32) (sum float32) {
	for i, v := range x {
		diff := float32(scale*float32(codes[i])) + low - v
		if s.absolute {
			diff = abs32(diff)
		} else {
			diff = float32(diff * diff)
		}
		sum += float32(weights[i] * diff)
	}
	return sum
}

// spread returns the least number, or 0 if that is positive, the largest, the sum of
// weights and that of weighted numbers.
func spread(x, weights []float32) (low, high, sw, sx float32) {
	low, high, sw = x[0], x[0], weights[0]
	sx = float32(sw * x[0])
	for i, v := range x[1:] {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		w := weights[i+1]
		sw += w
		sx += float32(w * v)
	}
	if low > 0 {
		low = 0
	}
	return low, high, sw, sx
}

// searchPositive finds x ~ scale*code for nonnegative numbers, codes 0 to top: nine
// scales, then moves of single codes [make_qp_quants].
func searchPositive(codes []uint8, x, weights []float32, top int) float32 {
	high := float32(0)
	for _, v := range x {
		if high < v {
			high = v
		}
	}
	if high < tinyGroup {
		clear(codes)
		return 0
	}
	inverse := float32(top) / high
	scale, least := 1/inverse, float32(0)
	for i, v := range x {
		codes[i] = uint8(nearest(float32(inverse * v)))
		diff := v - float32(scale*float32(codes[i]))
		least += float32(float32(weights[i]*diff) * diff)
	}
	for step := -4; step <= 4; step++ {
		if step == 0 {
			continue
		}
		trial := (float32(0.1*float32(step)) + float32(top)) / high
		scale, sum := 1/trial, float32(0)
		for i, v := range x {
			diff := v - float32(scale*float32(min(top, nearest(float32(trial*v)))))
			sum += float32(float32(weights[i]*diff) * diff)
		}
		if sum < least {
			least, inverse = sum, trial
		}
	}
	var xl, ll float32
	for i, v := range x {
		l := min(top, nearest(float32(inverse*v)))
		codes[i] = uint8(l)
		xl += float32(float32(weights[i]*v) * float32(l))
		ll += float32(float32(weights[i]*float32(l)) * float32(l))
	}
	improve(codes, x, &xl, &ll, moving{func(i int) float32 { return weights[i] }, 0, top, true})
	return quotient(xl, ll)
}
