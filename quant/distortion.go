package quant

import (
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Distortion measures what quantizing took: sums over the numbers before and
// after. The zero Distortion is of nothing.
type Distortion struct {
	N      int64
	Abs    float64 // sum of the magnitudes of the differences
	Square float64 // sum of the squares of the differences
	Before float64 // sum of the squares before
	After  float64 // sum of the squares after
	Dot    float64 // sum of the products
	Max    float64 // largest magnitude of a difference
}

// Add takes numbers before and after, in order.
func (d *Distortion) Add(before, after []float32) {
	for i, x := range before {
		a, b := float64(x), float64(after[i])
		e := math.Abs(a - b)
		d.Abs += e
		d.Square += float64(e * e)
		d.Before += float64(a * a)
		d.After += float64(b * b)
		d.Dot += float64(a * b)
		d.Max = max(d.Max, e)
	}
	d.N += int64(len(before))
}

// Merge adds what another measured, of numbers that come later.
func (d *Distortion) Merge(o Distortion) {
	d.N += o.N
	d.Abs += o.Abs
	d.Square += o.Square
	d.Before += o.Before
	d.After += o.After
	d.Dot += o.Dot
	d.Max = max(d.Max, o.Max)
}

// MAE is the mean magnitude of a difference.
func (d *Distortion) MAE() float64 {
	if d.N == 0 {
		return 0
	}
	return d.Abs / float64(d.N)
}

// RelativeRMSE is the root mean square of the differences over that of the
// numbers before: 0 is no loss, 1 is a loss as large as the numbers.
func (d *Distortion) RelativeRMSE() float64 {
	if d.Square == 0 {
		return 0
	}
	return math.Sqrt(d.Square / d.Before)
}

// Cosine is that of the angle between before and after, 1 where both are zero.
func (d *Distortion) Cosine() float64 {
	if d.Before == 0 && d.After == 0 {
		return 1
	}
	if d.Before == 0 || d.After == 0 {
		return 0
	}
	return d.Dot / (math.Sqrt(d.Before) * math.Sqrt(d.After))
}

// DistortionBlock is how many numbers are summed up in a row. Sums of blocks are
// then added in their order, so that workers who share a tensor get the same bits
// as one who does it alone.
const DistortionBlock = 1 << 16

// Distortions are the sums of a tensor's blocks. Blocks may be set at the same
// time.
type Distortions struct {
	blocks []Distortion
}

// NewDistortions makes room for the blocks of n numbers.
func NewDistortions(b *limits.Budget, n int64) (*Distortions, error) {
	blocks, err := limits.Make[Distortion](b, int(ceilDiv(n, DistortionBlock)))
	return &Distortions{blocks}, err
}

// Add takes numbers of the tensor from the one at first on. Each block is given
// whole, or in pieces that follow each other.
func (s *Distortions) Add(first int64, before, after []float32) {
	for len(before) > 0 {
		n := min(int(DistortionBlock-first%DistortionBlock), len(before))
		s.blocks[first/DistortionBlock].Add(before[:n], after[:n])
		before, after, first = before[n:], after[n:], first+int64(n)
	}
}

// Sum adds the blocks up.
func (s *Distortions) Sum() Distortion {
	var d Distortion
	for _, o := range s.blocks {
		d.Merge(o)
	}
	return d
}
