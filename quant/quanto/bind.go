package quanto

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "quanto", Stores: "8 bits and FP8; 2 and 4 bits if the file states the weight's shape", Oracle: "optimum-quanto",
	Goldens: []string{"quanto-*"}, Bind: bind,
	Declares: scheme.ByTensors, Priority: 1, // FP8 takes any tensor of its types
	Methods: []scheme.Method{{Name: "quanto", Known: keys}},
	Mains: []scheme.Main{
		{Codes: "._data", Parts: []string{"._scale"}, Only: true},
		{Codes: "._data._data", Parts: []string{"._scale", "._shift"}, Only: true},
	},
	Scales:   []string{"._scale", "._shift"},
	Marks:    []string{"._data"},
	Explains: []string{".input_scale", ".output_scale"},
}

// bind binds codes of a byte under a scale per row or for all, and packed codes,
// whose stored matrix has a row for each group.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if name, ok := scheme.Suffix(info, "._data._data"); ok {
		return bindPacked(s, info, name)
	}
	name, ok := scheme.Suffix(info, "._data")
	if !ok || len(info.Shape) < 2 {
		return nil, nil
	}
	scale, ok := s.Find(name + "._scale")
	if !ok {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name+"._scale"))
	}
	rows := form.Int8Row
	if codec, ok := form.Float8Of(info.DType); ok {
		rows = func(cols int64) form.Codes { return form.Float8Row(cols, codec) }
	} else if info.DType != tensor.I8 {
		return nil, wire.ErrUnsupported.Errorf("quanto's codes in %s", info.TypeName())
	}
	if len(info.Shape) != 2 || scale.Elements() != 1 && !scheme.Shaped(scale.Shape, []int64{info.Shape[0], 1}) {
		return nil, wire.ErrUnsupported.Errorf("%s of shape %v beside %v: optimum-quanto can dequantize it", wire.Quote(scale.Name), scale.Shape, info.Shape)
	}
	g, layout, err := s.ScaleGrid(info, scale)
	if err != nil {
		return nil, err
	}
	cols := info.Shape[1]
	return &scheme.Weight{Name: name, Shape: info.Shape, Layout: info.TypeName() + ", " + layout, Parts: []tensor.Info{*info, *scale},
		Form: &form.Scaled{Cols: cols, Codes: rows(cols), Scales: g}}, nil
}

// bindPacked binds codes of two or four bits. Rows of the matrix of groups share bytes,
// the first rows in the lowest bits.
func bindPacked(s *scheme.Set, info *tensor.Info, name string) (*scheme.Weight, error) {
	if info.DType != tensor.U8 || len(info.Shape) != 2 {
		return nil, wire.ErrUnsupported.Errorf("quanto's packed codes in %s of shape %v", info.TypeName(), info.Shape)
	}
	types := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	scale, err := s.Companion(name+"._scale", []int64{-1, 1}, types...)
	if err != nil {
		return nil, err
	}
	groups, stored, width := scale.Shape[0], info.Shape[0], info.Shape[1]
	shift, err := s.Companion(name+"._shift", []int64{groups, 1}, types...)
	if err != nil {
		return nil, err
	}
	four, two := form.CeilDiv(groups, 2) == stored, form.CeilDiv(groups, 4) == stored
	if four == two {
		return nil, wire.ErrMismatch.Errorf("%s has shape %v beside codes of %v: neither two bits nor four", wire.Quote(scale.Name), scale.Shape, info.Shape)
	}
	bits := int64(2)
	if four {
		bits = 4
	}
	cols, err := colsOf(s, name, groups, width)
	if err != nil {
		return nil, err
	}
	total := groups * width // at most four times the bytes of the codes
	return &scheme.Weight{Name: name, Shape: []int64{total / cols, cols}, Layout: scheme.Describe(bits, width), Parts: []tensor.Info{*info, *scale, *shift},
		Form: &form.GroupRows{Cols: cols, Rows: total / cols, Bits: bits, Stored: stored, Width: width, Groups: groups,
			Scale: form.FactorOf(scale.DType), Shift: form.FactorOf(shift.DType)}}, nil
}

// colsOf returns the columns of a packed weight. quanto's groups have 128, 96, 64 or
// 32 columns, or a whole row if it is shorter or none divides it. Files do not state the
// columns for those widths, except by a bias for each row.
func colsOf(s *scheme.Set, name string, groups, width int64) (int64, error) {
	if width > 128 || width%32 != 0 {
		return width, nil
	}
	if bias, ok := s.Find(strings.TrimSuffix(name, ".weight") + ".bias"); ok && len(bias.Shape) == 1 && groups%bias.Shape[0] == 0 {
		cols := groups / bias.Shape[0] * width
		if groupOf(cols) == width {
			return cols, nil
		}
	}
	return 0, wire.ErrUnsupported.Errorf("groups of %d: the file does not say how long a row is. optimum-quanto can dequantize it", width)
}

// groupOf returns the width of the groups that quanto uses for rows of cols columns.
func groupOf(cols int64) int64 {
	if cols <= 128 {
		return cols
	}
	for g := int64(128); g >= 32; g -= 32 {
		if cols%g == 0 {
			return g
		}
	}
	return cols
}

// keys are those of its configuration.
var keys = []string{"weights", "activations"}
