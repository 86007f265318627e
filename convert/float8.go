package convert

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// isFloat8 reports whether t is one of the types to which tensors are cast without a
// scale.
func isFloat8(t tensor.DType) bool { return t == tensor.F8E4M3 || t == tensor.F8E5M2 }

// toFloat8 rounds as torch 2.15 does (Tensor.to): to nearest, ties to even. A number beyond the
// range of E4M3, including infinity, becomes its largest number, 448; in E5M2 it becomes infinite.
// A NaN is 0x7F: torch keeps its sign, which the readers here drop.
func toFloat8(x float32, to tensor.DType) byte {
	if x != x {
		return 0x7F
	}
	if to == tensor.F8E4M3 {
		return scaled.ToE4M3(x)
	}
	return scaled.ToE5M2(x)
}

// mostFloat8 returns the largest number that does not round out of range.
func mostFloat8(to tensor.DType) float32 {
	if to == tensor.F8E4M3 {
		return 464 // halfway to 480, whose code is NaN
	}
	return math.Nextafter32(61440, 0) // below the tie with 65536
}

// A float8Encoding is a tensor whose numbers are cast to an 8-bit float.
type float8Encoding struct {
	out    [1]encode.Out
	counts *specials
}

func (e *float8Encoding) Outs() []encode.Out     { return e.out[:] }
func (e *float8Encoding) Block() int64           { return 1 }
func (e *float8Encoding) Hold() int64            { return 0 }
func (e *float8Encoding) Open([]byte)            {}
func (e *float8Encoding) End() ([][]byte, error) { return make([][]byte, 1), nil }

func (e *float8Encoding) Span(_ int, lo, hi int64) tensor.Span {
	return tensor.Span{Off: lo, Len: hi - lo}
}

// Put casts.
func (e *float8Encoding) Put(dst [][]byte, _ int64, src []float32) error {
	to := e.out[0].DType
	for i, x := range src {
		dst[0][i] = toFloat8(x, to)
	}
	return nil
}

// count counts numbers that exceed the range.
func (e *float8Encoding) count(src []float32) (over, nan, inf int64) {
	most := mostFloat8(e.out[0].DType)
	for _, x := range src {
		switch {
		case x != x:
			nan++
		case x > math.MaxFloat32 || x < -math.MaxFloat32:
			inf++
		case x > most || x < -most:
			over++
		}
	}
	return over, nan, inf
}

// castToFloat8 plans a tensor that is cast to an 8-bit float.
func (p *Plan) castToFloat8(w *quant.Weight) error {
	if w.Scheme != "" {
		return wire.ErrUnsupported.Errorf("it is quantized as %s, whose numbers need scales: decode the model first, or quantize it to FP8", w.Scheme)
	}
	size := w.Rows() * w.Cols()
	e := &float8Encoding{out: [1]encode.Out{{Name: w.Name, DType: p.o.CastTo, Shape: w.Shape, Size: size}}}
	t := newEncodeTask(newRowReader(p.straight, w, w.Matrix(), 0, w.Rows()), e, e.Outs(), int32(len(p.Outs)))
	if err := p.store(e.out[0]); err != nil {
		return err
	}
	var err error
	if e.counts, err = p.counted(w); err != nil {
		return err
	}
	p.Cast.add(size)
	return p.encodeStrips(t, w)
}
