package scheme

import (
	"encoding/binary"
	"math"
)

// A Distortion measures the loss of quantization, as sums over the numbers before and
// after. The zero Distortion is that of no numbers.
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

// AddWeighted takes numbers with weights, by which their terms are multiplied. Max is not
// weighted.
func (d *Distortion) AddWeighted(before, after, weights []float32) {
	for i, x := range before {
		a, b, w := float64(x), float64(after[i]), float64(weights[i])
		e := math.Abs(a - b)
		d.Abs += float64(e * w)
		d.Square += float64(float64(e*e) * w)
		d.Before += float64(float64(a*a) * w)
		d.After += float64(float64(b*b) * w)
		d.Dot += float64(float64(a*b) * w)
		d.Max = max(d.Max, e)
	}
	d.N += int64(len(before))
}

// Merge adds the sums of another Distortion, over numbers that come later.
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

// SNR is the signal-to-noise ratio in decibels; infinite if nothing was lost.
func (d *Distortion) SNR() float64 {
	if d.Square == 0 {
		return math.Inf(1)
	}
	return 10 * math.Log10(d.Before/d.Square)
}

// Cosine is the cosine of the angle between before and after, 1 if both are zero.
func (d *Distortion) Cosine() float64 {
	if d.Before == 0 && d.After == 0 {
		return 1
	}
	if d.Before == 0 || d.After == 0 {
		return 0
	}
	return d.Dot / (math.Sqrt(d.Before) * math.Sqrt(d.After))
}

// DistortionBytes is what the sums of one block of [Distortions] take.
const DistortionBytes = 7 * 8

// Distortions are the sums of a tensor's blocks, in memory of the caller. The sums of
// blocks are added in order, so that any number of workers gets the same bits. Different
// blocks may be set concurrently.
type Distortions struct {
	memory []byte
}

// NewDistortions stores the blocks in memory.
func NewDistortions(memory []byte) Distortions {
	clear(memory)
	return Distortions{memory}
}

// Set stores the sums of one block.
func (s Distortions) Set(block int64, d *Distortion) {
	p := s.memory[block*DistortionBytes:][:DistortionBytes]
	binary.LittleEndian.PutUint64(p, uint64(d.N))
	for i, x := range [...]float64{d.Abs, d.Square, d.Before, d.After, d.Dot, d.Max} {
		binary.LittleEndian.PutUint64(p[8+8*i:], math.Float64bits(x))
	}
}

// Sum adds the blocks up.
func (s Distortions) Sum() Distortion {
	var d Distortion
	for p := s.memory; len(p) >= DistortionBytes; p = p[DistortionBytes:] {
		at := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:])) }
		d.Merge(Distortion{int64(binary.LittleEndian.Uint64(p)), at(1), at(2), at(3), at(4), at(5), at(6)})
	}
	return d
}
