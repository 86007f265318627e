package onnx

import "math"

// A stride says which places of an axis an output has: n of them from the first, each so far from the last.
type stride struct{ from, by, n float64 }

// picked returns the numbers at places of a constant: axes says which axis of it each axis of the output
// follows, if it is not the same.
func picked(c *folded, along []stride, axes []int) []float64 {
	total := 1.0
	for _, a := range along {
		total *= a.n
	}
	if !(total <= maxSmall) {
		return nil
	}
	steps := make([]float64, maxDims) // between neighbors of each axis of the constant
	for k, step := len(c.shape)-1, 1.0; k >= 0; k-- {
		steps[k] = step
		step *= float64(c.shape[k])
	}
	out := make([]float64, 0, maxSmall)
	for i := range int(total) {
		at, rest := 0.0, float64(i)
		for k := len(along) - 1; k >= 0; k-- {
			a, axis := along[k], k
			if axes != nil {
				axis = axes[k]
			}
			at += (a.from + a.by*math.Mod(rest, a.n)) * steps[axis]
			rest = math.Floor(rest / a.n)
		}
		if !(at >= 0 && at < float64(len(c.values))) {
			return nil
		}
		out = append(out, c.values[int(at)])
	}
	return out
}

// all is every place of each axis.
func all(shape []int64) []stride {
	out := make([]stride, 0, maxDims)
	for _, n := range shape {
		out = append(out, stride{0, 1, float64(n)})
	}
	return out
}

// sliced returns which places of a value Slice takes; false if that is not known.
func (s *sizing) sliced(inputs []*folded) ([]stride, bool) {
	said := [4][]float64{s.sizes["starts"], s.sizes["ends"], s.sizes["axes"], nil} // those of old versions
	for k := range 4 {
		if k+1 >= len(inputs) || inputs[k+1] == nil {
			continue
		}
		if said[k] = inputs[k+1].values; !inputs[k+1].list() {
			return nil, false
		}
	}
	from, to, axes, by := said[0], said[1], said[2], said[3]
	if inputs[0] == nil || inputs[0].shape == nil || len(from) != len(to) || axes != nil && len(axes) != len(from) || by != nil && len(by) != len(from) {
		return nil, false
	}
	out := all(inputs[0].shape)
	for k := range from {
		axis, step := float64(k), 1.0
		if axes != nil {
			axis = axes[k]
		}
		if by != nil {
			step = by[k]
		}
		if axis < 0 {
			axis += float64(len(out))
		}
		if !(axis >= 0 && axis < float64(len(out))) || step == 0 || step != math.Trunc(step) || from[k] != math.Trunc(from[k]) || to[k] != math.Trunc(to[k]) {
			return nil, false
		}
		out[int(axis)] = between2(from[k], to[k], step, out[int(axis)].n)
	}
	return out, len(from) > 0
}

// between2 returns the places of an axis of n from one to before another, which count from the end if they
// are below 0.
func between2(from, to, by, n float64) stride {
	if from < 0 {
		from += n
	}
	if to < 0 {
		to += n
	}
	if by > 0 {
		from, to = min(max(from, 0), n), min(max(to, 0), n)
	} else {
		from, to = min(max(from, 0), n-1), min(max(to, -1), n-1)
	}
	return stride{from, by, max(math.Ceil((to-from)/by), 0)}
}

// permuted returns the axes of the input that those of the output of Transpose are.
func (s *sizing) permuted(rank int) []int {
	out := make([]int, 0, maxDims)
	perm, has := s.sizes["perm"]
	if has && len(perm) != rank {
		return nil
	}
	for k := range rank {
		axis := rank - 1 - k
		if has {
			if !(perm[k] >= 0 && perm[k] < float64(rank)) {
				return nil
			}
			axis = int(perm[k])
		}
		out = append(out, axis)
	}
	return out
}

// repeatedIn returns the places of a constant in a shape to which it is repeated.
func repeatedIn(c *folded, shape []int64) (along []stride, axes []int) {
	for k, n := range shape {
		of, by := k-len(shape)+len(c.shape), 1.0
		if of < 0 || c.shape[of] == 1 {
			by = 0
		}
		along, axes = append(along, stride{0, by, float64(n)}), append(axes, max(of, 0))
	}
	return along, axes
}
