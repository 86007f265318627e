package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var bnb8Scheme = scheme{
	name: "BitsAndBytes INT8", stores: "rows of LLM.int8()", oracle: "bitsandbytes",
	goldens: []string{"bitsandbytes-int8"}, bind: bindBnb8,
	methods: []method{{"bitsandbytes", bnbKeys}},
	mains:   []main{{codes: ".weight", parts: []string{".SCB", ".weight_format"}}},
	endings: []string{"-bnb-int8"},
	linear:  true,
}

// bindBnb8 binds bitsandbytes' 8-bit weights in row order. The layouts of its GPU kernels
// cannot be told from that by size.
func bindBnb8(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight")
	if !ok || info.DType != tensor.I8 || len(info.Shape) != 2 {
		return nil, nil
	}
	if _, ok := s.find(stem + ".SCB"); !ok {
		return nil, nil
	}
	scb, err := s.companion(stem+".SCB", []int64{info.Shape[0]}, tensor.F32)
	if err != nil {
		return nil, err
	}
	w := &Weight{
		Name: info.Name, Shape: info.Shape, Layout: "INT8, one absmax per row",
		Parts: []tensor.Info{*info, *scb}, form: &form.Bnb8{Cols: info.Shape[1]},
	}
	format, ok := s.find(stem + ".weight_format")
	if !ok {
		return w, nil
	}
	if format.Elements() != 1 || format.DType != tensor.U8 {
		return nil, wire.ErrMismatch.Errorf("its companion %s is %s of shape %v, expected one U8", wire.Quote(format.Name), format.TypeName(), format.Shape)
	}
	order, err := s.text(format, 1)
	if err != nil {
		return nil, err
	}
	if order.Body != "\x00" {
		return nil, wire.ErrUnsupported.Errorf("%s says the order of a GPU kernel: save the model with rows", wire.Quote(format.Name))
	}
	w.Extra = append(w.Extra, *format)
	return w, nil
}
