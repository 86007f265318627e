package gptq

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
)

var Scheme = scheme.Scheme{
	Name: "GPTQ", Stores: "2, 3, 4, 8 bits, both versions of zero points, act-order; AutoRound's 2 to 8 bits", Oracle: "GPTQModel, auto-round",
	Goldens: []string{"gptq-*", "autoround-*"}, Bind: bind,
	Methods: methods,
	Mains:   []scheme.Main{{Codes: ".qweight", Parts: []string{".scales", ".qzeros", ".g_idx"}, Only: true}},
	Scales:  []string{".scales"},
	Marks:   []string{".qweight"},
	Meta:    []string{"gptq_*", "quantization_config", "quantize_config"},
	Endings: []string{"-GPTQ-Int4", "-GPTQ-Int8", "-gptq-int4", "-gptq-int8", "-gptq4", "-gptq8", "-GPTQ", "-gptq", "_gptq"},
	Linear:  true,
}

var methods = autoround.Methods(scheme.Method{Name: "gptq", Known: keys})

// bind binds weights packed along the input dimension: qweight has as many columns as
// scales.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".qweight")
	scales, hasScales := s.Find(stem + ".scales")
	if !ok || info.DType != tensor.I32 || len(info.Shape) != 2 {
		return nil, nil
	}
	if !hasScales {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(stem+".scales"))
	}
	if len(scales.Shape) != 2 || scales.Shape[1] != info.Shape[1] || scales.Shape[0] == info.Shape[0] && s.Claimed(info) {
		return nil, nil
	}
	if other := s.MethodOfOthers(methods, ".qweight"); other != "" {
		return nil, wire.ErrMismatch.Errorf("%s says %s, but %s is packed as GPTQ packs", s.Config.File, other, wire.Quote(info.Name))
	}
	out, groups := info.Shape[1], scales.Shape[0]
	zeros, err := s.Companion(stem+".qzeros", []int64{groups, -1}, tensor.I32)
	if err != nil {
		return nil, err
	}
	f := &form.PackedIn{Out: out, Groups: groups}
	if err := bindSizes(s, stem, f, info, zeros); err != nil {
		return nil, err
	}
	if f.Scale, f.ScaleSize, err = scheme.ScaleNumber(scales); err != nil {
		return nil, err
	}
	f.Bulk = form.ScaleBulk(scales.DType)
	w := &scheme.Weight{
		Name: stem + ".weight", Shape: []int64{out, f.In}, Layout: scheme.Describe(f.Bits, f.GroupSize),
		Parts: []tensor.Info{*info, *scales, *zeros}, Form: f,
	}
	old, all, err := oldZeros(s, stem, f.Bits, zeros)
	if err != nil {
		return nil, err
	}
	if f.OldZeros = old; all != nil {
		w.Promise = all
	}
	if !f.OldZeros {
		w.Layout += ", v2"
	}
	return w, bindOrder(s, w, f, stem)
}

// bindSizes derives the width of a field from the zero points, which are packed along the
// outputs, and the number of inputs from that.
func bindSizes(s *scheme.Set, stem string, f *form.PackedIn, info, zeros *tensor.Info) error {
	if f.Out == 0 || zeros.Shape[1]*32%f.Out != 0 {
		return wire.ErrMismatch.Errorf("%s has shape %v beside %d outputs", wire.Quote(zeros.Name), zeros.Shape, f.Out)
	}
	f.Bits = zeros.Shape[1] * 32 / f.Out
	if !slices.Contains([]int64{2, 3, 4, 8}, f.Bits) && !(autoround.Wrote(s) && f.Bits >= 5 && f.Bits <= 7) {
		return wire.ErrUnsupported.Errorf("fields of %d bits in %s (GPTQModel's gptq_p): gptqmodel can dequantize it", f.Bits, wire.Quote(zeros.Name))
	}
	if n, ok, err := s.Whole(stem, "bits"); err != nil || ok && n != f.Bits {
		return orMismatch(err, "%s says %d bits, %s has %d", s.Config.File, n, wire.Quote(zeros.Name), f.Bits)
	}
	if info.Shape[0]*32%f.Bits != 0 {
		return wire.ErrMismatch.Errorf("%d words do not hold whole fields of %d bits", info.Shape[0], f.Bits)
	}
	f.In = info.Shape[0] * 32 / f.Bits
	f.GroupSize = f.In / f.Groups // neither is zero: no tensor of the weight is empty
	n, ok, err := s.Whole(stem, "group_size")
	if err != nil {
		return err
	}
	_, listed := s.Find(stem + ".g_idx") // then each input has a group index
	if ok && n == 0 {
		return wire.ErrRange.Errorf("%s says groups of 0", s.Config.File)
	}
	if ok && n > 0 {
		f.GroupSize = n
	} else if ok && f.Groups != 1 {
		return wire.ErrMismatch.Errorf("%s says one group for all inputs, %s has %d", s.Config.File, wire.Quote(zeros.Name), f.Groups)
	} else if f.In%f.Groups != 0 {
		return wire.ErrUnsupported.Errorf("%d inputs in %d groups: a config.json with group_size decides", f.In, f.Groups)
	} else if other := otherGroup(f.In, f.Groups); !ok && !listed && other > 0 {
		return wire.ErrUnsupported.Errorf("two readings: %d inputs in %d groups of %d, or of %d with a shorter last group: a config.json with group_size decides",
			f.In, f.Groups, f.GroupSize, other)
	}
	if form.CeilDiv(f.In, f.GroupSize) != f.Groups {
		return wire.ErrMismatch.Errorf("%d inputs in groups of %d are not %d groups", f.In, f.GroupSize, f.Groups)
	}
	return nil
}

// otherGroup returns the power of two that divides inputs into this number of groups, the last one
// shorter, if no power of two divides them evenly; 0 if there is none.
func otherGroup(in, groups int64) int64 {
	even := in / groups
	if groups < 2 || even&(even-1) == 0 {
		return 0
	}
	for g := int64(1); g <= in; g *= 2 {
		if form.CeilDiv(in, g) == groups {
			return g
		}
	}
	return 0
}

// bindOrder binds the groups of inputs that were quantized out of order, and checks that
// each exists.
func bindOrder(s *scheme.Set, w *scheme.Weight, f *form.PackedIn, stem string) error {
	index, p, err := s.GroupIndex(stem+".g_idx", f.In)
	if index == nil {
		return err
	}
	ordered, highest := true, int64(0)
	for i := range f.In {
		g := f.Group(int32(form.U32(p[4*i:])))
		if g < 0 || g >= f.Groups {
			return wire.ErrRange.Errorf("%s names group %d of %d", wire.Quote(index.Name), g, f.Groups)
		}
		ordered, highest = ordered && g == i/f.GroupSize, max(highest, g)
	}
	w.Parts = append(w.Parts, *index)
	if ordered {
		return nil
	}
	w.Layout += ", act-order"
	return followed(s, stem, index, highest)
}

// followed refuses an order of inputs that GPTQ's kernels ignore: Marlin, here and in
// vLLM, if desc_act is false, and ExLlama's second kernel if the index is all zeros
// (marlin.py and exllamav2.py of GPTQModel).
func followed(s *scheme.Set, stem string, index *tensor.Info, highest int64) error {
	own, err := s.Own(stem)
	if err != nil {
		return err
	}
	if order, ok := config.First(own.Get("desc_act"), s.Config.Quant.Get("desc_act")).Bool(); ok && !order {
		return wire.ErrMismatch.Errorf("%s says desc_act false, but %s reorders the inputs: kernels follow one or the other",
			s.Config.File, wire.Quote(index.Name))
	}
	if highest == 0 {
		return wire.ErrUnsupported.Errorf("two readings: %s puts all inputs into the first group, and some kernels ignore such a tensor", wire.Quote(index.Name))
	}
	return nil
}

// orMismatch returns err, or a mismatch if it is nil.
func orMismatch(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return wire.ErrMismatch.Errorf(format, args...)
}
