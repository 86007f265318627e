package onnx_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// stated is a model of a program whose operators name tensors that it does not have.
type stated struct {
	tensor.File
	q tensor.Quantized
}

func (s *stated) Quantized(name string) (tensor.Quantized, bool) { return s.q, name == "w" }

func TestModelsOfAProgramThatLackScales(t *testing.T) {
	for want, q := range map[string]tensor.Quantized{
		`its scales "s"`:      {Operator: "DequantizeLinear", Scales: "s"},
		`its zero points "z"`: {Operator: "DequantizeLinear", Scales: "scale", Zeros: "z"},
	} {
		m := &stated{tensor.File{Name: "onnx", Source: bytes.NewReader(make([]byte, 8)), Infos: []tensor.Info{
			{Name: "w", Stored: "INT8", DType: tensor.I8, Shape: []int64{4}, Span: tensor.Span{Len: 4}},
			{Name: "scale", Stored: "FLOAT", DType: tensor.F32, Shape: []int64{1}, Span: tensor.Span{Off: 4, Len: 4}},
		}}, q}
		b := limits.Policy{}.Budget(t.Context())
		if _, err := quant.Plan(b, m, quant.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		b.Close()
	}
}
