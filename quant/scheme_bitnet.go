package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var bitnetScheme = scheme{
	name: "BitNet", stores: "ternary weights of both layer classes", oracle: "transformers",
	goldens: []string{"bitnet"}, bind: bindBitNet,
	declares: byMethod,
	methods:  []method{{"bitnet", bitnetKeys}},
	mains:    []main{{codes: ".weight", parts: []string{".weight_scale"}}},
	scales:   []string{"_scale"},
}

// bindBitNet binds ternary weights. A stored row holds row r of each quarter of the
// matrix.
func bindBitNet(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight")
	if !ok || info.DType != tensor.U8 || len(info.Shape) != 2 {
		return nil, nil
	}
	scale, err := s.companion(stem+".weight_scale", []int64{1}, tensor.BF16, tensor.F16, tensor.F32)
	if err != nil {
		return nil, err
	}
	read, size, err := scaleNumber(scale)
	if err != nil {
		return nil, err
	}
	quarter, cols := info.Shape[0], info.Shape[1]
	rows := 4 * quarter
	f := &form.Scaled{
		Cols: cols, Inverse: true, Scales: form.Grid{MatrixRows: rows, BlockRows: rows, BlockCols: cols, Cols: 1, Size: size, Read: read},
		Codes: form.QuarterRows(quarter, cols),
	}
	switch class := s.config.Quant.Text("linear_class"); class {
	case "", "bitlinear":
	case "autobitlinear":
		f.Inverse = false
	default:
		return nil, wire.ErrUnsupported.Errorf("linear_class %s", wire.Quote(class))
	}
	return &Weight{
		Name: info.Name, Shape: []int64{rows, cols}, Layout: "ternary, one scale", Parts: []tensor.Info{*info, *scale}, form: f,
	}, nil
}
