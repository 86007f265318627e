package convert

import (
	"errors"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// bnbEncoding has the common parts of bitsandbytes' encodings.
type bnbEncoding struct {
	linearEncoding

	bnb *bnbEncoder
}

// of returns the encoding for the options.
func (e *bnbEncoding) of(dtype string) (encoding, error) {
	if e.bnb.o.Type == INT8 {
		return newBnbRows(e)
	}
	return newBnbBlocks(e, dtype)
}

// located adds to an encoder's error the index of the number in the weight.
func located(err error, lo int64) error {
	if bad, ok := errors.AsType[*bnb.NotFinite](err); ok {
		return &bnb.NotFinite{Index: lo + bad.Index, Value: bad.Value}
	}
	return err
}

// newBnbRows plans LLM.int8(): NAME holds codes, and beside it, under the name of the
// module, are the scales and the mark that codes are in row order.
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
		if e.unit > 0 {
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
