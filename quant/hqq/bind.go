package hqq

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "HQQ", Stores: "1 to 6 and 8 bits on either axis; safetensors and qmodel.pt", Oracle: "hqq",
	Goldens: []string{"hqq-*"}, Bind: bind,
	Methods: []scheme.Method{{Name: "hqq", Known: keys}},
	Mains:   []scheme.Main{{Codes: ".W_q", Parts: append([]string{".scale", ".zero", ".nbits", ".axis", ".shape"}, rest...), Only: true}},
	Scales:  []string{".scale"},
}

// rest are the properties that do not affect the numbers.
var rest = []string{
	".group_size", ".packing", ".compute_dtype", ".unpack_view_dtype", ".view_as_float", ".quant_scale", ".quant_zero",
	".offload_meta", ".channel_wise", ".optimize", ".round_zero", ".stores_quant_config", ".encoded_state_dict",
}

// bind binds weights whose every property is a tensor of its own.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".W_q")
	if !ok || len(info.Shape) != 2 {
		return nil, nil
	}
	w := &scheme.Weight{Name: stem + ".weight", Parts: []tensor.Info{*info}}
	f := &form.Reshaped{Stored: info.Shape[0], Width: info.Shape[1]}
	var bits, axis int64
	for _, v := range []struct {
		name string
		to   *int64
	}{{".nbits", &bits}, {".axis", &axis}} {
		n, err := s.Integers(stem+v.name, w)
		if err != nil {
			return nil, err
		}
		if len(n) != 1 {
			return nil, wire.ErrMismatch.Errorf("its companion %s has %d numbers", wire.Quote(stem+v.name), len(n))
		}
		*v.to = n[0]
	}
	var err error
	if w.Shape, err = s.Integers(stem+".shape", w); err != nil {
		return nil, err
	}
	for _, name := range flags {
		if err := unset(s, stem+name); err != nil {
			return nil, err
		}
	}
	f.Bits = bits
	if bits == 5 || bits == 6 {
		f.Bits = 8 // such codes are not packed
	}
	if err := f.Lay(info, w.Shape, axis); err != nil {
		return nil, err
	}
	w.Layout, w.Form = fmt.Sprintf("%s, axis %d", scheme.Describe(bits, f.Total/f.Groups()), axis), f
	bindRest(s, stem, w)
	return w, bindScales(s, stem, w, f)
}

// flags are properties that make HQQ read codes or scales from other tensors or in
// another type.
var flags = [...]string{".quant_scale", ".quant_zero", ".view_as_float"}

// unset refuses a property that is set.
func unset(s *scheme.Set, name string) error {
	info, ok := s.Find(name)
	if !ok {
		return nil
	}
	if info.Elements() != 1 {
		return wire.ErrMismatch.Errorf("its companion %s has %d numbers", wire.Quote(name), info.Elements())
	}
	zero, err := s.AllZero(name)
	if err == nil && !zero {
		err = wire.ErrUnsupported.Errorf("%s is set: hqq can dequantize it", wire.Quote(name))
	}
	return err
}

func bindScales(s *scheme.Set, stem string, w *scheme.Weight, f *form.Reshaped) error {
	shape := []int64{f.Height, 1}
	if f.ByColumn {
		shape = []int64{1, f.Width}
	}
	scale, err := s.Companion(stem+".scale", shape, tensor.F32, tensor.F16, tensor.BF16)
	if err != nil {
		return err
	}
	zero, err := s.Companion(stem+".zero", shape, scale.DType)
	if err != nil {
		return err
	}
	f.Read, f.Size, err = scheme.ScaleNumber(scale)
	f.Bulk = form.ScaleBulk(scale.DType)
	w.Parts = append(w.Parts, *scale, *zero)
	return err
}

// bindRest binds the properties that do not affect the numbers.
func bindRest(s *scheme.Set, stem string, w *scheme.Weight) {
	for _, name := range rest {
		if info, ok := s.Find(stem + name); ok {
			w.Extra = append(w.Extra, *info)
		}
	}
}

// keys are those of its configuration.
var keys = []string{
	"nbits", "group_size", "axis", "view_as_float?", "dynamic_config.**", "dynamic_config", "skip_modules", "weight_quant_params.**", "scale_quant_params?", "zero_quant_params?",
	"offload_meta?", "quant_config.**",
}
