package bnb

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var EightBit = scheme.Scheme{
	Name: "BitsAndBytes INT8", Stores: "rows of LLM.int8()", Oracle: "bitsandbytes",
	Goldens: []string{"bitsandbytes-int8"}, Bind: bind8,
	Methods: []scheme.Method{{Name: "bitsandbytes", Known: keys}},
	Mains:   []scheme.Main{{Codes: ".weight", Parts: []string{".SCB", ".weight_format"}}},
	Endings: []string{"-bnb-int8"},
	Linear:  true,
}

// bind8 binds bitsandbytes' 8-bit weights in row order. Its size does not distinguish it from the
// layouts of the GPU kernels.
func bind8(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	if !ok || info.DType != tensor.I8 || len(info.Shape) != 2 {
		return nil, nil
	}
	if _, ok := s.Find(stem + ".SCB"); !ok {
		return nil, nil
	}
	scb, err := s.Companion(stem+".SCB", []int64{info.Shape[0]}, tensor.F32)
	if err != nil {
		return nil, err
	}
	w := &scheme.Weight{
		Name: info.Name, Shape: info.Shape, Layout: "INT8, one absmax per row",
		Parts: []tensor.Info{*info, *scb}, Form: &form.Rows8{Cols: info.Shape[1]},
	}
	format, ok := s.Find(stem + ".weight_format")
	if !ok {
		return w, nil
	}
	if format.Elements() != 1 || format.DType != tensor.U8 {
		return nil, wire.ErrMismatch.Errorf("its companion %s is %s of shape %v, expected one U8", wire.Quote(format.Name), format.TypeName(), format.Shape)
	}
	order, err := s.Text(format, 1)
	if err != nil {
		return nil, err
	}
	if order.Body != "\x00" {
		return nil, wire.ErrUnsupported.Errorf("%s says the order of a GPU kernel: save the model with rows", wire.Quote(format.Name))
	}
	w.Extra = append(w.Extra, *format)
	return w, nil
}
