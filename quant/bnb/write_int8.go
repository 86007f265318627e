package bnb

import (
	"errors"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// encoding has the common parts of bitsandbytes' encodings.
type encoding struct {
	encode.LinearWeight

	by *encoder
}

// of returns the encoding for the options.
func (e *encoding) of(dtype string) (encode.Encoding, error) {
	if e.by.o.Type == INT8 {
		return newInt8(e)
	}
	return newFourBit(e, dtype)
}

// located adds to an encoder's error the index of the number in the weight.
func located(err error, lo int64) error {
	if bad, ok := errors.AsType[*NotFinite](err); ok {
		return &NotFinite{Index: lo + bad.Index, Value: bad.Value}
	}
	return err
}

// newInt8 plans LLM.int8(): NAME holds codes, and beside it, under the name of the
// module, are the scales and the mark that codes are in row order.
func newInt8(e *encoding) (encode.Encoding, error) {
	module := e.Source.Name[:len(e.Source.Name)-len("weight")]
	rows, cols := e.Source.Rows(), e.Source.Cols()
	return &int8Rows{e, e.Measured(1)}, errors.Join(
		e.Add(e.Source.Name, tensor.I8, rows*cols, rows, cols),
		e.Add(module+"SCB", tensor.F32, 4*rows, rows),
		e.Add(module+"weight_format", tensor.U8, 1))
}

// int8Rows is LLM.int8().
type int8Rows struct {
	*encoding
	hold int64
}

func (e *int8Rows) Block() int64 { return 1 }
func (e *int8Rows) Hold() int64  { return e.hold }

func (e *int8Rows) Span(i int, lo, hi int64) tensor.Span {
	cols := e.Source.Cols()
	switch i {
	case 0:
		return tensor.Span{Off: lo, Len: hi - lo}
	case 1:
		return tensor.Span{Off: 4 * (lo / cols), Len: 4 * (hi/cols - lo/cols)}
	}
	return tensor.Span{}
}

func (e *int8Rows) Put(dst [][]byte, lo int64, src []float32) error {
	cols := int(e.Source.Cols())
	m := e.Meter(lo)
	codes, scales := dst[0], dst[1]
	for ; len(src) > 0; lo += int64(cols) {
		var scale [1]float32
		if err := EncodeInt8(codes[:cols], scale[:], src[:cols], cols); err != nil {
			return located(err, lo)
		}
		encode.PutFloats(scales, scale[:])
		if e.Unit > 0 {
			var after [256]float32
			for at := 0; at < cols; at += len(after) {
				n := min(len(after), cols-at)
				DecodeInt8(after[:n], codes[at:at+n], scale[:], n)
				m.Add(src[at:at+n], after[:n])
			}
		}
		codes, scales, src = codes[cols:], scales[4:], src[cols:]
	}
	return nil
}

func (e *int8Rows) End() ([][]byte, error) {
	e.Finish()
	return [][]byte{nil, nil, {0}}, nil
}
