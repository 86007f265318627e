package asm

import "math"

// encodeChunk is how many numbers the kernels of encoders take in one step.
const encodeChunk = 32

// Absmax writes the largest magnitude of each run of float32 numbers; the last run may be
// shorter. Magnitudes are compared as bits, so that a NaN is larger than infinity and
// visible in its run.
func (o *Ops) Absmax(dst, src []float32, run int) {
	n := len(src)
	want(run > 0 && len(dst) == (n+run-1)/run, "runs and magnitudes differ in count")
	apart(Raw(dst), Raw(src))
	done := 0
	if kernel := o.absmax; kernel != nil && run%encodeChunk == 0 && n >= run {
		done = n / run
		kernel(&dst[0], &Raw(src)[0], run/encodeChunk, done)
	}
	for r := done; r < len(dst); r++ {
		m := uint32(0)
		for i := r * run; i < min(n, (r+1)*run); i++ {
			m = max(m, math.Float32bits(src[i])&^(1<<31))
		}
		dst[r] = math.Float32frombits(m)
	}
}

// A Quantizer finds the nearest of sixteen values by the bounds between them.
type Quantizer struct {
	bounds [15]float32
	order  [16]byte
	least  float32
	tables [96]byte // as the kernels want them
}

// leastBound is the smallest magnitude of a bound for which kernels need not distinguish
// small products.
const leastBound = 0x1p-30

// NewQuantizer returns a quantizer for bounds in rising order, and the code of each value
// in the same order. A scale below least is replaced by least.
func NewQuantizer(bounds [15]float32, order [16]byte, least float32) *Quantizer {
	q := &Quantizer{bounds: bounds, order: order, least: least}
	for k := range 8 { // after two comparisons 0..3, after three 0..7, as negative numbers
		if k < 4 {
			putFloat(q.tables[4*(-k&7):], bounds[4*k+1])
		}
		putFloat(q.tables[32+4*(-k&7):], bounds[2*k])
	}
	for k := range 16 {
		q.tables[64+(-k&15)] = order[k]
	}
	putFloat(q.tables[80:], bounds[7])
	putFloat(q.tables[84:], bounds[3])
	putFloat(q.tables[88:], bounds[11])
	for _, b := range bounds {
		if math.Abs(float64(b)) < leastBound {
			q.tables[92] = 1
		}
	}
	return q
}

func putFloat(p []byte, f float32) {
	b := math.Float32bits(f)
	p[0], p[1], p[2], p[3] = byte(b), byte(b>>8), byte(b>>16), byte(b>>24)
}

// Code returns the code of a scaled number; one on a bound belongs to the lower side.
func (q *Quantizer) Code(x float32) byte {
	n := 0
	for step := 8; step > 0; step /= 2 {
		if q.bounds[n+step-1] < x {
			n += step
		}
	}
	return q.order[n]
}

// Nearest writes the codes of whole runs, two per byte, the first in the high nibble.
// Numbers are multiplied by the reciprocal of their run's scale.
func (o *Ops) Nearest(q *Quantizer, dst []byte, src, scales []float32, run int) {
	n := len(src)
	want(run > 0 && run%2 == 0 && n%run == 0 && len(dst) == n/2, "codes and numbers differ in count")
	want(len(scales) >= n/run, "runs without a scale")
	apart(dst, Raw(src))
	if kernel := o.nearest; kernel != nil && run%encodeChunk == 0 && n > 0 {
		kernel(&dst[0], &Raw(src)[0], &scales[0], &q.tables[0], &q.least, run/encodeChunk, n/run)
		return
	}
	for i := 0; i < n; i += 2 {
		inverse := 1 / max(scales[i/run], q.least)
		dst[i/2] = q.Code(src[i]*inverse)<<4 | q.Code(src[i+1]*inverse)
	}
}

// Int8 writes round(x*(127/s)) as bytes, ties to even, where s is the run's scale and
// 127/s is rounded first. A result that is not finite becomes zero. The last run may be
// shorter.
func (o *Ops) Int8(dst []byte, src, scales []float32, run int) {
	n := len(src)
	want(len(dst) == n, "codes and numbers differ in count")
	(&Runs{Scales: scales, Length: run}).wantFor(n, Scale)
	apart(dst, Raw(src))
	var kernel func(r, runs, chunks, at int)
	if k := o.int8; k != nil {
		kernel = func(r, runs, chunks, at int) { k(&dst[at], &Raw(src[at:])[0], &scales[r], chunks, runs) }
	}
	eachRun(n, run, encodeChunk, 1, kernel, func(r, from, to int) {
		inverse := float32(1/scales[r]) * 127
		for i := from; i < to; i++ {
			dst[i] = byte(roundToInt8(src[i] * inverse))
		}
	})
}

// roundToInt8 rounds a number whose magnitude is at most 128, or that is not finite.
func roundToInt8(x float32) int8 {
	if math.Float32bits(x)&0x7F800000 == 0x7F800000 {
		return 0
	}
	return int8(max(-128, min(127, math.RoundToEven(float64(x)))))
}
