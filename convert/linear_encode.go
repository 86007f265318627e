package convert

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A linearEncoding is what the stored forms of one weight have in common.
type linearEncoding struct {
	by    *linearEncoder
	w     *quant.Weight
	index int // in Quantized.Weights
	outs  []Out

	unit   int64 // numbers that are measured together; 0 if none are
	sums   quant.Distortions
	memory []byte
}

// Weight is what is read: the weight, or its transpose.
func (e *linearEncoding) Weight() *quant.Weight { return e.w }

// Outs implements encoding.
func (e *linearEncoding) Outs() []Out { return e.outs }

// add plans one tensor.
func (e *linearEncoding) add(name string, t tensor.DType, size int64, shape ...int64) (err error) {
	e.outs, err = limits.Append(e.by.b, e.outs, Out{Name: name, DType: t, Shape: shape, Size: size})
	return err
}

// measured is the bytes that the sums take.
func (e *linearEncoding) measured(block int64) int64 {
	if !e.by.measures {
		return 0
	}
	e.unit = unitRows(e.w, block) * e.w.Cols()
	return (e.w.Rows()*e.w.Cols() + e.unit - 1) / e.unit * quant.DistortionBytes
}

// unitRows is how many rows are encoded together: the least that end with a
// block, see [encodeTask].
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

// A meter measures what becomes of the numbers of a range. Its units are those
// of the tensor, so sums do not depend on how it is cut.
type meter struct {
	e    *linearEncoding
	at   int64 // of the next number
	left int64 // numbers of its unit that are to come
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

// flush ends a unit; n is how many of its numbers come from m.at on.
func (m *meter) flush(n int64) {
	if m.sum.N > 0 {
		m.e.sums.Set((m.at+n-1)/m.e.unit, &m.sum)
	}
	m.sum, m.left = quant.Distortion{}, m.e.unit
}

// end flushes the unit that the tensor's end cuts off.
func (m *meter) end() { m.flush(0) }

// finish takes the sums.
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
