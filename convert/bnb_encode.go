package convert

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// bnbEncoding is what the forms have in common.
type bnbEncoding struct {
	bnb   *bnbEncoder
	w     *quant.Weight
	index int // in Quantized.Weights
	outs  []Out

	unit   int64 // numbers that are measured together
	sums   quant.Distortions
	memory []byte
}

// of makes the encoding of the options.
func (e *bnbEncoding) of(dtype string) (encoding, error) {
	if e.bnb.o.Type == INT8 {
		return newBnbRows(e)
	}
	return newBnbBlocks(e, dtype)
}

// Weight is what is read: the weight, or its transpose.
func (e *bnbEncoding) Weight() *quant.Weight { return e.w }

// Outs implements encoding.
func (e *bnbEncoding) Outs() []Out { return e.outs }

// add plans one tensor.
func (e *bnbEncoding) add(name string, t tensor.DType, size int64, shape ...int64) (err error) {
	e.outs, err = limits.Append(e.bnb.b, e.outs, Out{Name: name, DType: t, Shape: shape, Size: size})
	return err
}

// measured is the bytes that the sums take.
func (e *bnbEncoding) measured(block int64) int64 {
	if !e.bnb.o.Measure {
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
func (e *bnbEncoding) Open(memory []byte) {
	e.memory = memory
	e.sums = quant.NewDistortions(memory)
}

// A meter measures what becomes of the numbers of a range. Its units are those
// of the tensor, so sums do not depend on how it is cut.
type meter struct {
	e    *bnbEncoding
	at   int64 // of the next number
	left int64 // numbers of its unit that are to come
	sum  quant.Distortion
}

func (e *bnbEncoding) meter(lo int64) meter { return meter{e: e, at: lo, left: e.unit} }

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
func (e *bnbEncoding) finish() {
	if e.bnb.o.Measure && e.unit > 0 {
		e.bnb.Weights[e.index].Lost = e.sums.Sum()
	}
}

// located says which number of the weight an encoder refused.
func located(err error, lo int64) error {
	if bad, ok := errors.AsType[*bnb.NotFinite](err); ok {
		return &bnb.NotFinite{Index: lo + bad.Index, Value: bad.Value}
	}
	return err
}

// putFloats writes numbers little-endian.
func putFloats(dst []byte, list []float32) {
	for i, x := range list {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
}

// newBnbRows plans LLM.int8(): NAME holds codes, and beside it, under the name of
// the module, are the scales and the word that they lie in rows.
func newBnbRows(e *bnbEncoding) (encoding, error) {
	module := e.w.Name[:len(e.w.Name)-len("weight")]
	rows, cols := e.w.Rows(), e.w.Cols()
	return &bnbRows{e, e.measured(1)}, errors.Join(
		e.add(e.w.Name, tensor.I8, rows*cols, rows, cols),
		e.add(module+"SCB", tensor.F32, 4*rows, rows),
		e.add(module+"weight_format", tensor.U8, 1))
}

// bnbRows is LLM.int8().
type bnbRows struct {
	*bnbEncoding
	hold int64
}

func (e *bnbRows) Block() int64 { return 1 }
func (e *bnbRows) Hold() int64  { return e.hold }

func (e *bnbRows) Span(i int, lo, hi int64) tensor.Span {
	cols := e.w.Cols()
	switch i {
	case 0:
		return tensor.Span{Off: lo, Len: hi - lo}
	case 1:
		return tensor.Span{Off: 4 * (lo / cols), Len: 4 * (hi/cols - lo/cols)}
	}
	return tensor.Span{}
}

func (e *bnbRows) Put(dst [][]byte, lo int64, src []float32) error {
	cols := int(e.w.Cols())
	m := e.meter(lo)
	codes, scales := dst[0], dst[1]
	for ; len(src) > 0; lo += int64(cols) {
		var scale [1]float32
		if err := bnb.EncodeInt8(codes[:cols], scale[:], src[:cols], cols); err != nil {
			return located(err, lo)
		}
		putFloats(scales, scale[:])
		if e.bnb.o.Measure {
			var after [256]float32
			for at := 0; at < cols; at += len(after) {
				n := min(len(after), cols-at)
				bnb.DecodeInt8(after[:n], codes[at:at+n], scale[:], n)
				m.add(src[at:at+n], after[:n])
			}
		}
		codes, scales, src = codes[cols:], scales[4:], src[cols:]
	}
	return nil
}

func (e *bnbRows) End() ([][]byte, error) {
	e.finish()
	return [][]byte{nil, nil, {0}}, nil
}
