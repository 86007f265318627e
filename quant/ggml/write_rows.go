package ggml

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// rows encodes a weight row by row, since with a matrix a block may depend on its
// row.
type rows struct {
	e      *encoder
	w      *scheme.Weight
	index  int // in Quantized.Weights
	outs   []encode.Out
	codec  form.Codec
	encode func(dst []byte, src, matrix []float32)
	cols   int64
	row    int64     // bytes of one encoded row
	matrix []float32 // for the columns of each matrix of a stack in turn, or nil
	sums   scheme.Distortions
	weighs scheme.Distortions // weighted by importance, if there is a matrix
}

// Weight returns the weight that is read.
func (r *rows) Weight() *scheme.Weight { return r.w }

// Outs implements [encode.Encoding].
func (r *rows) Outs() []encode.Out { return r.outs }

// Block implements [encode.Encoding].
func (r *rows) Block() int64 { return max(1, r.cols) }

// Hold implements [encode.Encoding].
func (r *rows) Hold() int64 {
	if !r.e.o.Measure {
		return 0
	}
	if r.matrix != nil {
		return 2 * r.w.Rows() * scheme.DistortionBytes
	}
	return r.w.Rows() * scheme.DistortionBytes
}

// Open implements [encode.Encoding].
func (r *rows) Open(memory []byte) {
	n := min(int64(len(memory)), r.w.Rows()*scheme.DistortionBytes)
	r.sums, r.weighs = scheme.NewDistortions(memory[:n]), scheme.NewDistortions(memory[n:])
}

// Span implements [encode.Encoding].
func (r *rows) Span(_ int, lo, hi int64) tensor.Span {
	return tensor.Span{Off: lo / r.cols * r.row, Len: (hi - lo) / r.cols * r.row}
}

// Put implements [encode.Encoding].
func (r *rows) Put(dst [][]byte, lo int64, src []float32) error {
	out := dst[0]
	for row := lo / r.cols; len(src) > 0; row++ {
		x := src[:r.cols]
		largest, err := finite(x, row*r.cols)
		if err != nil {
			return err
		}
		r.encode(out[:r.row], x, r.importance(row))
		if err := r.check(row, x, out[:r.row], largest); err != nil {
			return err
		}
		src, out = src[r.cols:], out[r.row:]
	}
	return nil
}

// importance returns the importance of a row's columns, that of its expert in a stack.
func (r *rows) importance(row int64) []float32 {
	if r.matrix == nil {
		return nil
	}
	stacks := int64(len(r.matrix)) / r.cols
	at := row / (r.w.Rows() / stacks) * r.cols
	return r.matrix[at:][:r.cols:r.cols]
}

// finite returns an error for the first number of a row that is not finite, and the
// largest magnitude.
func finite(x []float32, at int64) (largest float32, err error) {
	if len(x) == 0 {
		return 0, nil
	}
	var most [1]float32
	asm.Best().Absmax(most[:], x, len(x))
	if largest = most[0]; largest-largest == 0 {
		return largest, nil
	}
	for i, v := range x {
		if v-v != 0 {
			return 0, &encode.NotFinite{Index: at + int64(i), Value: v}
		}
	}
	return largest, nil
}

// mayOverflow is the smallest magnitude whose scale may exceed float16: the scale of a
// ternary block is the magnitude itself.
const mayOverflow = 65504

// check measures a row, and returns an error if its scale became infinite.
func (r *rows) check(row int64, x []float32, encoded []byte, largest float32) error {
	if !r.e.o.Measure && largest < mayOverflow {
		return nil
	}
	g, _ := r.codec.Dtype.Geometry()
	var room [256]float32
	var sum, weighed scheme.Distortion
	importance := r.importance(row)
	elems, size := int(g.Elems), int(g.Bytes)
	for i := 0; i < len(x); i += len(room) { // a multiple of the blocks of every type
		n := min(len(room), len(x)-i)
		back := room[:n]
		r.codec.Decode(back, encoded[i/elems*size:][:n/elems*size])
		for k, v := range back {
			if largest >= mayOverflow && (v != v || math.IsInf(float64(v), 0)) {
				return wire.ErrUnsupported.Errorf("element %d is too large for %v", row*r.cols+int64(i+k), r.codec.Dtype)
			}
		}
		sum.Add(x[i:][:n], back)
		if r.e.o.Measure && importance != nil {
			weighed.AddWeighted(x[i:][:n], back, importance[i:][:n])
		}
	}
	if r.e.o.Measure {
		r.sums.Set(row, &sum)
		if importance != nil {
			r.weighs.Set(row, &weighed)
		}
	}
	return nil
}

// End implements [encode.Encoding].
func (r *rows) End() ([][]byte, error) {
	if r.e.o.Measure {
		r.e.Weights[r.index].Lost, r.e.Weights[r.index].Weighed = r.sums.Sum(), r.weighs.Sum()
	}
	return nil, nil
}
