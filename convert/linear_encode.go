package convert

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A linearEncoding is the common part of the encodings of one weight.
type linearEncoding struct {
	by    *linearEncoder
	w     *quant.Weight
	index int // in Quantized.Weights
	outs  []Out

	unit   int64 // numbers that are measured together; 0 for no measuring
	sums   quant.Distortions
	memory []byte
}

// Weight returns what is read: the weight or its transpose.
func (e *linearEncoding) Weight() *quant.Weight { return e.w }

// Outs implements encoding.
func (e *linearEncoding) Outs() []Out { return e.outs }

// add plans one tensor.
func (e *linearEncoding) add(name string, t tensor.DType, size int64, shape ...int64) (err error) {
	e.outs, err = limits.Append(e.by.b, e.outs, Out{Name: name, DType: t, Shape: shape, Size: size})
	return err
}

// measured returns the memory for the sums.
func (e *linearEncoding) measured(block int64) int64 {
	if !e.by.measures {
		return 0
	}
	e.unit = unitRows(e.w, block) * e.w.Cols()
	return (e.w.Rows()*e.w.Cols() + e.unit - 1) / e.unit * quant.DistortionBytes
}

// unitRows returns how many rows are encoded together: the fewest that end with a block,
// see [encodeTask].
func unitRows(w *quant.Weight, block int64) int64 {
	n := int64(1)
	for n < block && n*w.Cols()%block != 0 {
		n++
	}
	return n
}

// Open implements encoding.
func (e *linearEncoding) Open(memory []byte) {
	e.memory = memory
	e.sums = quant.NewDistortions(memory)
}

// A meter measures the loss of a range. It sums in units of the tensor, so that sums do
// not depend on the ranges.
type meter struct {
	e    *linearEncoding
	at   int64 // index of the next number
	left int64 // numbers left in the current unit
	sum  quant.Distortion
}

func (e *linearEncoding) meter(lo int64) meter { return meter{e: e, at: lo, left: e.unit} }

func (m *meter) add(before, after []float32) {
	for len(before) > 0 {
		n := min(m.left, int64(len(before)))
		m.sum.Add(before[:n], after[:n])
		before, after = before[n:], after[n:]
		if m.left -= n; m.left == 0 {
			m.flush(n)
		}
		m.at += n
	}
}

// flush ends a unit; n is how many of its numbers follow m.at.
func (m *meter) flush(n int64) {
	if m.sum.N > 0 {
		m.e.sums.Set((m.at+n-1)/m.e.unit, &m.sum)
	}
	m.sum, m.left = quant.Distortion{}, m.e.unit
}

// end flushes the partial unit at the end of the tensor.
func (m *meter) end() { m.flush(0) }

// finish adds up the sums.
func (e *linearEncoding) finish() {
	if e.unit > 0 {
		e.by.Weights[e.index].Lost = e.sums.Sum()
	}
}

// putFloats writes numbers little-endian.
func putFloats(dst []byte, list []float32) {
	for i, x := range list {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}
