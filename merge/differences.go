package merge

import "math"

// differences computes base + lambda * sum(weight * scale * d), where d is the difference of
// an input from the base, of which only selected elements are kept. With elect, only terms
// with the sign of their sum count.
func (g *group) differences(r *buffers, first int64) {
	n := len(r.sum)
	base := r.in[g.base][:n]
	clear(r.sum)
	var total float32
	for i := range g.inputs {
		if i == g.base {
			continue
		}
		total += g.inputs[i].weight
		g.difference(r, i, base, first)
	}
	normalize, lambda := g.shared["normalize"] != 0, float32(g.shared["lambda"])
	if math.Abs(float64(total)) < 1e-8 {
		total = 1
	}
	if g.method.elect {
		g.elect(r, normalize)
	}
	for k, f := range r.sum {
		switch {
		case normalize && g.method.elect:
			f /= r.div[k]
		case normalize:
			f /= total
		}
		f *= lambda // exact for 1
		r.sum[k] = base[k] + f
	}
}

// Masks of the bits of an F32, and infinity; larger magnitudes are NaN.
const (
	signBit       = 1 << 31
	magnitudeBits = signBit - 1
	infinity      = 0x7F800000
)

// elect keeps the differences that have the sign of their sum; a sum of zero is positive, NaN
// negative. div becomes the sum of the weights of those kept, or 1. Signs are as good as
// random, so nothing branches on them. A sum that began with +0 is never -0.
func (g *group) elect(r *buffers, weighed bool) {
	n := len(r.sum)
	signs := r.raw[:n] // free after the inputs were read
	for k, f := range r.sum {
		positive := int64(math.Float32bits(f)) - infinity - 1
		signs[k] = math.Float32frombits(^uint32(positive>>63) & signBit)
	}
	clear(r.sum)
	clear(r.div)
	for i := range g.inputs {
		if i == g.base {
			continue
		}
		in := r.in[i][:n]
		addElected(r.sum, in, signs)
		if weighed {
			addWeights(r.div, in, signs, g.inputs[i].weight)
		}
	}
	for k, w := range r.div {
		if w == 0 {
			r.div[k] = 1
		}
	}
}

// signMask returns all ones if f is neither zero nor NaN and has the sign of sign, else zero.
func signMask(f, sign float32) uint32 {
	d := math.Float32bits(f)
	number := uint32((int64(d&magnitudeBits-1) - infinity) >> 63) // 0-1 is large
	return number &^ uint32(int32(d^math.Float32bits(sign))>>31)
}

func addElected(sum, in, signs []float32) {
	in, signs = in[:len(sum)], signs[:len(sum)]
	for k, f := range in {
		sum[k] += math.Float32frombits(math.Float32bits(f) & signMask(f, signs[k]))
	}
}

func addWeights(sum, in, signs []float32, weight float32) {
	in, signs = in[:len(sum)], signs[:len(sum)]
	for k, f := range in {
		sum[k] += math.Float32frombits(math.Float32bits(weight) & signMask(f, signs[k]))
	}
}

// difference replaces the numbers of input i by their weighted differences from the base, and
// adds them to the sum.
func (g *group) difference(r *buffers, i int, base []float32, first int64) {
	d := r.in[i][:len(base)]
	subtract(d, base)
	scale, weight := float32(1), g.inputs[i].weight // a product with 1 is exact
	if r.work != nil {
		keep := &r.work.keep[i]
		keep.apply(d, first, g.inputs[i].key)
		if keep.scale != 0 {
			scale = keep.scale
		}
	}
	sum := r.sum[:len(d)]
	for k, f := range d {
		f = float32(float32(f*scale) * weight)
		d[k] = f
		sum[k] += f
	}
}

func subtract(d, base []float32) {
	base = base[:len(d)]
	for k, f := range base {
		d[k] -= f
	}
}
