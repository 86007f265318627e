package tflite

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/onnx"
)

// Scheme is the row. What the tensors say decides, whatever they are called.
var Scheme = scheme.Scheme{
	Name: "TFLite", Stores: "codes of 2 to 32 bits by tensors and axes", Oracle: "LiteRT",
	Goldens: []string{"tflite-*"}, Bind: bind,
	Declares: scheme.ByGraph, Priority: 2, Joint: true,
}

// maxZeros bounds the zero points that are compared with the type of their codes: an axis of a
// published model has at most as many indices as a vocabulary.
const maxZeros = 1 << 20

func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	m, ok := s.Model.(tensor.Quantizer)
	if !ok {
		return nil, nil
	}
	q, ok := m.Quantized(info.Name)
	if !ok || q.Of != "tflite" {
		return nil, nil
	}
	if q.Why != "" {
		return nil, wire.ErrUnsupported.Errorf("%s", q.Why)
	}
	if err := zeros(s, q, info); err != nil {
		return nil, err
	}
	return onnx.Linear(s, q, info, tensor.I64)
}

// zeros proves that the zero points are codes: float32 has each of them, and each difference.
func zeros(s *scheme.Set, q tensor.Quantized, info *tensor.Info) error {
	z, ok := s.Find(q.Zeros)
	if !ok {
		return nil
	}
	low, high := int64(0), int64(0)
	switch info.DType {
	case tensor.I8:
		low, high = -1<<7, 1<<7-1
	case tensor.U8:
		high = 1<<8 - 1
	case tensor.I16:
		low, high = -1<<15, 1<<15-1
	case tensor.U16:
		high = 1<<16 - 1
	}
	if z.Span.Len > 8*maxZeros {
		return wire.ErrUnsupported.Errorf("%d zero points", z.Span.Len/8)
	}
	p, err := s.Small(z)
	if err != nil {
		return err
	}
	for at := 0; at+8 <= len(p); at += 8 {
		if v := int64(form.U64(p[at:])); v < low || v > high {
			return wire.ErrRange.Errorf("the zero point %d of codes of type %s", v, info.TypeName())
		}
	}
	return nil
}
