package modelopt

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Int4 = scheme.Scheme{
	Name: "ModelOpt INT4", Stores: "W4A16, packed along the outputs", Oracle: "ModelOpt's packer",
	Goldens: []string{"modelopt-w4a16"}, Bind: bindInt4,
	Methods:  []scheme.Method{Method},
	Mains:    []scheme.Main{{Codes: ".weight", Parts: []string{".weight_scale"}}},
	Scales:   []string{"_scale"},
	Explains: []string{".input_scale"},
}

// bindInt4 binds ModelOpt's 4-bit integers in two's complement: two rows in a stored
// one, the even row in the low nibble.
func bindInt4(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	scales, hasScales := s.Find(stem + ".weight_scale")
	if !ok || !hasScales || info.DType != tensor.U8 || len(info.Shape) < 2 || len(scales.Shape) != len(info.Shape) ||
		scales.DType == tensor.U8 || scales.DType == tensor.F8E4M3 || scales.DType == tensor.F8E8M0 {
		return nil, nil
	}
	last := len(info.Shape) - 1
	shape := append([]int64(nil), info.Shape...)
	shape[last-1] *= 2
	if !scheme.Shaped(scales.Shape[:last], shape[:last]) {
		return nil, nil
	}
	if _, ok := s.Find(stem + ".weight_scale_2"); ok {
		return nil, wire.ErrUnsupported.Errorf("four-bit integers under two scales (W4A8)")
	}
	cols, groups := shape[last], scales.Shape[last]
	if groups == 0 || cols%groups != 0 {
		return nil, scheme.Mismatch(info, scales)
	}
	read, size, err := scheme.ScaleNumber(scales)
	if err != nil {
		return nil, err
	}
	rows := info.Elements() / cols * 2
	return &scheme.Weight{
		Name: info.Name, Shape: shape, Layout: "ModelOpt, " + scheme.Describe(4, cols/groups), Parts: []tensor.Info{*info, *scales},
		Form: &form.Scaled{Cols: cols, Codes: form.PairRows(cols, signedNibble), Scales: form.GroupGrid(rows, cols, cols/groups, size, read)},
	}, nil
}

// signedNibble returns the value of four bits in two's complement.
func signedNibble(code uint8) float32 { return float32(int8(code<<4) >> 4) }
