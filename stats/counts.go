package stats

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/limits"
)

// The bins of each sign are the exponents of float64, which has the widest range of all
// types.
const (
	lowest  = -1075 // subnormal numbers of float64
	highest = 1024
	signs   = highest - lowest
)

// counts collects the statistics of one tensor.
type counts struct {
	sum   sum
	seen  int64
	first int64 // index of the first number that is not finite, or -1

	zeros, nan, inf int64
	bins            [2 * signs]int64
	singles         [4][512]uint32 // of one piece, by sign and exponent of float32
}

// floats counts a piece of float32.
func (c *counts) floats(p []float32) {
	clear(c.singles[0][:])
	clear(c.singles[1][:])
	clear(c.singles[2][:])
	clear(c.singles[3][:])
	// Four sums, so that additions do not wait for each other.
	var total [4]float64
	least, most := float32(math.Inf(1)), float32(math.Inf(-1))
	k := 0
	for ; k+4 <= len(p); k += 4 {
		a, b, d, e := p[k], p[k+1], p[k+2], p[k+3]
		c.singles[0][math.Float32bits(a)>>23]++
		c.singles[1][math.Float32bits(b)>>23]++
		c.singles[2][math.Float32bits(d)>>23]++
		c.singles[3][math.Float32bits(e)>>23]++
		total[0] += float64(a)
		total[1] += float64(b)
		total[2] += float64(d)
		total[3] += float64(e)
		least, most = min(least, a, b, d, e), max(most, a, b, d, e)
	}
	for ; k < len(p); k++ {
		c.singles[0][math.Float32bits(p[k])>>23]++
		total[0] += float64(p[k])
		least, most = min(least, p[k]), max(most, p[k])
	}
	for x := range c.singles[0] {
		c.singles[0][x] += c.singles[1][x] + c.singles[2][x] + c.singles[3][x]
	}
	one := sum{finite: int64(len(p)), min: float64(least), max: float64(most), mean: total[0] + total[1] + total[2] + total[3]}
	if n := c.singles[0][255] + c.singles[0][511]; n > 0 {
		one = c.special(p)
	}
	if one.finite > 0 {
		one.mean /= float64(one.finite)
		one.m2 = distances(p, one.mean)
	}
	c.sum.add(&one)
	c.spread(p)
	c.seen += int64(len(p))
}

// distances returns the sum of the squared distances of the finite numbers from the mean.
func distances(p []float32, mean float64) float64 {
	var total [4]float64
	for k, x := range p {
		if d := float64(x) - mean; d-d == 0 {
			total[k&3] += float64(d * d)
		}
	}
	return total[0] + total[1] + total[2] + total[3]
}

// special sums a piece with numbers that are not finite; mean holds the sum until the
// end.
func (c *counts) special(p []float32) sum {
	one := sum{min: math.Inf(1), max: math.Inf(-1)}
	for k, x := range p {
		c.take(&one, float64(x), k)
	}
	return one
}

// take adds number k of a piece to its sum, or counts it if it is not finite.
func (c *counts) take(one *sum, f float64, k int) (finite bool) {
	switch {
	case f-f == 0:
		one.finite++
		one.mean += f
		one.min, one.max = min(one.min, f), max(one.max, f)
		return true
	case f != f:
		c.nan++
	default:
		c.inf++
	}
	if c.first < 0 {
		c.first = c.seen + int64(k)
	}
	return false
}

// spread adds a piece to the bins. The bin of exponent 0 has zeros and subnormal numbers.
func (c *counts) spread(p []float32) {
	for x, n := range c.singles[0] {
		if exp := x & 255; n > 0 && exp > 0 && exp < 255 {
			c.bins[x>>8*signs+exp-127-lowest] += int64(n)
		}
	}
	if c.singles[0][0]+c.singles[0][256] == 0 {
		return
	}
	for _, x := range p {
		switch bits := math.Float32bits(x); {
		case bits<<1 == 0:
			c.zeros++
		case bits<<1 < 1<<24:
			c.bins[int(bits>>31)*signs-127-lowest]++
		}
	}
}

// values counts a piece of any type.
func (c *counts) values(p []number.Value) {
	one := sum{min: math.Inf(1), max: math.Inf(-1)}
	for k := range p {
		f := p[k].F
		if !c.take(&one, f, k) {
			continue
		}
		if f == 0 {
			c.zeros++
			continue
		}
		sign := 0
		if f < 0 {
			sign = 1
		}
		_, exp := math.Frexp(f)
		c.bins[sign*signs+exp-1-lowest]++
	}
	if one.finite > 0 {
		one.mean /= float64(one.finite)
		for k := range p {
			if d := p[k].F - one.mean; d-d == 0 {
				one.m2 += float64(d * d)
			}
		}
	}
	c.sum.add(&one)
	c.seen += int64(len(p))
}

// finish stores the results in t.
func (c *counts) finish(b *limits.Budget, t *Tensor) (err error) {
	t.First, t.Zeros, t.NaN, t.Infinite = c.first, c.zeros, c.nan, c.inf
	c.sum.finish(t)
	n := 0
	for exp := range signs {
		if c.bins[exp]+c.bins[signs+exp] > 0 {
			n++
		}
	}
	if t.Bins, err = limits.Make[Bin](b, n); err != nil {
		return err
	}
	t.Bins = t.Bins[:0]
	for exp := range signs {
		if c.bins[exp]+c.bins[signs+exp] > 0 {
			t.Bins = append(t.Bins, Bin{exp + lowest, c.bins[signs+exp], c.bins[exp]})
		}
	}
	return nil
}
