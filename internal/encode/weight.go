package encode

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A LinearWeight is the common part of the encodings of one weight.
type LinearWeight struct {
	by     *Linear
	Source *scheme.Weight
	index  int // in Quantized.Weights
	List   []Out

	Unit   int64 // numbers that are measured together; 0 for no measuring
	sums   scheme.Distortions
	Memory []byte
}

// Weight returns what is read: the weight or its transpose.
func (e *LinearWeight) Weight() *scheme.Weight { return e.Source }

// Outs implements encoding.
func (e *LinearWeight) Outs() []Out { return e.List }

// Add plans one tensor.
func (e *LinearWeight) Add(name string, t tensor.DType, size int64, shape ...int64) (err error) {
	e.List, err = limits.Append(e.by.Budget, e.List, Out{Name: name, DType: t, Shape: shape, Size: size})
	return err
}

// Measured returns the memory for the sums.
func (e *LinearWeight) Measured(block int64) int64 {
	if !e.by.measures {
		return 0
	}
	e.Unit = UnitRows(e.Source, block) * e.Source.Cols()
	return (e.Source.Rows()*e.Source.Cols() + e.Unit - 1) / e.Unit * scheme.DistortionBytes
}

// UnitRows returns how many rows are encoded together: the fewest that end with a block,
// see [encodeTask].
func UnitRows(w *scheme.Weight, block int64) int64 {
	n := int64(1)
	for n < block && n*w.Cols()%block != 0 {
		n++
	}
	return n
}

// Open implements encoding.
func (e *LinearWeight) Open(memory []byte) {
	e.Memory = memory
	e.sums = scheme.NewDistortions(memory)
}

// A Meter measures the loss of a range. It sums in units of the tensor, so that sums do
// not depend on the ranges.
type Meter struct {
	e    *LinearWeight
	at   int64 // index of the next number
	left int64 // numbers left in the current unit
	sum  scheme.Distortion
}

func (e *LinearWeight) Meter(lo int64) Meter { return Meter{e: e, at: lo, left: e.Unit} }

func (m *Meter) Add(before, after []float32) {
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
func (m *Meter) flush(n int64) {
	if m.sum.N > 0 {
		m.e.sums.Set((m.at+n-1)/m.e.Unit, &m.sum)
	}
	m.sum, m.left = scheme.Distortion{}, m.e.Unit
}

// End flushes the partial unit at the end of the tensor.
func (m *Meter) End() { m.flush(0) }

// Finish adds up the sums.
func (e *LinearWeight) Finish() {
	if e.Unit > 0 {
		e.by.Weights[e.index].Lost = e.sums.Sum()
	}
}

// PutFloats writes numbers little-endian.
func PutFloats(dst []byte, list []float32) {
	for i, x := range list {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}

// GetFloats reads little-endian numbers; dst may be the memory of p.
func GetFloats(dst []float32, p []byte) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		if raw := asm.Raw(dst); len(raw) > 0 && &raw[0] != &p[0] {
			copy(raw, p)
		}
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
}
