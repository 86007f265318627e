package merge

import "math"

// differences adds what the inputs differ from the base by: each difference
// thinned, scaled again, and weighed; where signs are elected, only those of the sign
// of the sum.
func (g *group) differences(r *room, first int64) {
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
		f *= lambda // by 1 nothing changes
		r.sum[k] = base[k] + f
	}
}

// Parts of an F32's bits, and infinity: magnitudes above it are NaN.
const (
	signBit       = 1 << 31
	magnitudeBits = signBit - 1
	infinity      = 0x7F800000
)

// elect keeps of each number those differences that have the sign of their sum, a
// sum of zero being positive and NaN negative; div is the sum of their weights, 1 for
// none. Signs are as good as random, so nothing branches on them. A sum that began
// with +0 is never -0.
func (g *group) elect(r *room, weighed bool) {
	n := len(r.sum)
	signs := r.raw[:n] // what the inputs were read with
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
		elected(r.sum, in, signs)
		if weighed {
			addWhere(r.div, in, signs, g.inputs[i].weight)
		}
	}
	for k, w := range r.div {
		if w == 0 {
			r.div[k] = 1
		}
	}
}

// agrees is all bits if a number is neither zero nor NaN and has a sign, else none.
func agrees(f, sign float32) uint32 {
	d := math.Float32bits(f)
	number := uint32((int64(d&magnitudeBits-1) - infinity) >> 63) // 0-1 is large
	return number &^ uint32(int32(d^math.Float32bits(sign))>>31)
}

func elected(sum, in, signs []float32) {
	in, signs = in[:len(sum)], signs[:len(sum)]
	for k, f := range in {
		sum[k] += math.Float32frombits(math.Float32bits(f) & agrees(f, signs[k]))
	}
}

func addWhere(sum, in, signs []float32, weight float32) {
	in, signs = in[:len(sum)], signs[:len(sum)]
	for k, f := range in {
		sum[k] += math.Float32frombits(math.Float32bits(weight) & agrees(f, signs[k]))
	}
}

// difference makes an input's numbers those by which it differs, and adds them.
func (g *group) difference(r *room, i int, base []float32, first int64) {
	d := r.in[i][:len(base)]
	subtract(d, base)
	scale, weight := float32(1), g.inputs[i].weight // a product with 1 has the same bits
	if r.work != nil {
		keep := &r.work.keep[i]
		keep.thin(d, first, g.inputs[i].key)
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
