package bitnet

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "BitNet", Stores: "ternary weights of both layer classes", Oracle: "transformers",
	Goldens: []string{"bitnet"}, Bind: bind,
	Declares: scheme.ByMethod,
	Methods:  []scheme.Method{{Name: "bitnet", Known: keys}},
	Mains:    []scheme.Main{{Codes: ".weight", Parts: []string{".weight_scale"}}},
	Scales:   []string{"_scale"},
}

// bind binds ternary weights. A stored row holds row r of each quarter of the
// matrix.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	if !ok || info.DType != tensor.U8 || len(info.Shape) != 2 {
		return nil, nil
	}
	scale, err := s.Companion(stem+".weight_scale", []int64{1}, tensor.BF16, tensor.F16, tensor.F32)
	if err != nil {
		return nil, err
	}
	read, size, err := scheme.ScaleNumber(scale)
	if err != nil {
		return nil, err
	}
	quarter, cols := info.Shape[0], info.Shape[1]
	rows := 4 * quarter
	f := &form.Scaled{
		Cols: cols, Inverse: true, Scales: form.Grid{MatrixRows: rows, BlockRows: rows, BlockCols: cols, Cols: 1, Size: size, Read: read},
		Codes: form.QuarterRows(quarter, cols),
	}
	switch class := s.Config.Quant.Get("linear_class").String(); class {
	case "", "bitlinear":
	case "autobitlinear":
		f.Inverse = false
	default:
		return nil, wire.ErrUnsupported.Errorf("linear_class %s", wire.Quote(class))
	}
	return &scheme.Weight{
		Name: info.Name, Shape: []int64{rows, cols}, Layout: "ternary, one scale", Parts: []tensor.Info{*info, *scale}, Form: f,
	}, nil
}

// keys are those of its configuration.
var keys = []string{"linear_class", "quantization_mode", "use_rms_norm?", "rms_norm_eps"}
