package quant

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindGPTQ takes weights packed along the input dimension: qweight has as many
// columns as scales.
func bindGPTQ(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".qweight")
	scales, hasScales := s.find(stem + ".scales")
	if !ok || info.DType != tensor.I32 || len(info.Shape) != 2 {
		return nil, nil
	}
	if !hasScales {
		return nil, wire.ErrMissing.With("its companion %s", wire.Quote(stem+".scales"))
	}
	if len(scales.Shape) != 2 || scales.Shape[1] != info.Shape[1] {
		return nil, nil
	}
	if s.config.method() == "awq" {
		return nil, wire.ErrMismatch.With("%s says awq, but %s is packed as GPTQ packs", s.config.file, wire.Quote(info.Name))
	}
	out, groups := info.Shape[1], scales.Shape[0]
	zeros, err := s.companion(stem+".qzeros", []int64{groups, -1}, tensor.I32)
	if err != nil {
		return nil, err
	}
	f := &gptq{out: out, groups: groups}
	if err := s.gptqSizes(f, info, zeros); err != nil {
		return nil, err
	}
	if f.scale, f.scaleSize, err = scaleNumber(scales); err != nil {
		return nil, err
	}
	if f.oldZeros, err = s.oldZeros(); err != nil {
		return nil, err
	}
	w := &Weight{
		Name: stem + ".weight", Shape: []int64{out, f.in}, Layout: fmt.Sprintf("%d bits, %d groups", f.bits, groups),
		Parts: []tensor.Info{*info, *scales, *zeros}, form: f,
	}
	return w, s.gptqOrder(w, f, stem)
}

// gptqSizes finds the width of a field from the zero points, which are packed
// along the outputs, and the inputs from that.
func (s *set) gptqSizes(f *gptq, info, zeros *tensor.Info) error {
	if f.out == 0 || zeros.Shape[1]*32%f.out != 0 {
		return wire.ErrMismatch.With("%s has shape %v beside %d outputs", wire.Quote(zeros.Name), zeros.Shape, f.out)
	}
	f.bits = zeros.Shape[1] * 32 / f.out
	if !slices.Contains([]int64{2, 3, 4, 8}, f.bits) {
		return wire.ErrUnsupported.With("fields of %d bits in %s", f.bits, wire.Quote(zeros.Name))
	}
	if n, ok := s.config.quant.whole("bits"); ok && n != f.bits && s.config.quant.get("dynamic") == nil {
		return wire.ErrMismatch.With("%s says %d bits, %s has %d", s.config.file, n, wire.Quote(zeros.Name), f.bits)
	}
	if info.Shape[0]*32%f.bits != 0 {
		return wire.ErrMismatch.With("%d words do not hold whole fields of %d bits", info.Shape[0], f.bits)
	}
	f.in = info.Shape[0] * 32 / f.bits
	f.groupSize = f.in / max(1, f.groups)
	if f.in == 0 || f.groups == 0 {
		return wire.ErrMismatch.With("%d inputs in %d groups", f.in, f.groups)
	}
	if n, ok := s.config.quant.whole("group_size"); ok && n > 0 && s.config.quant.get("dynamic") == nil {
		f.groupSize = n
	} else if f.in%f.groups != 0 {
		return wire.ErrUnsupported.With("%d inputs in %d groups: a config.json with group_size decides", f.in, f.groups)
	}
	if ceilDiv(f.in, f.groupSize) != f.groups {
		return wire.ErrMismatch.With("%d inputs in groups of %d are not %d groups", f.in, f.groupSize, f.groups)
	}
	return nil
}

// gptqOrder binds the groups of inputs that were quantized out of order, and
// proves that each exists.
func (s *set) gptqOrder(w *Weight, f *gptq, stem string) error {
	if _, ok := s.find(stem + ".g_idx"); !ok {
		return nil
	}
	index, err := s.companion(stem+".g_idx", []int64{f.in}, tensor.I32)
	if err != nil {
		return err
	}
	p, err := s.small(index)
	if err != nil {
		return err
	}
	for i := range f.in {
		if g := f.group(int32(u32(p[4*i:]))); g < 0 || g >= f.groups {
			return wire.ErrRange.With("%s names group %d of %d", wire.Quote(index.Name), g, f.groups)
		}
	}
	w.Parts = append(w.Parts, *index)
	return nil
}

// oldZeros reports the first version of the format, whose zero points are less
// by one. It is the default of every file that does not say otherwise.
func (s *set) oldZeros() (bool, error) {
	format := s.config.quant.text("checkpoint_format")
	if format == "" {
		format = s.config.quant.text("format")
	}
	switch {
	case s.o.GPTQZeros == "v1":
		return true, nil
	case s.o.GPTQZeros == "v2":
		return false, nil
	case format == "gptq_v2":
		return false, nil
	case format == "" || format == "gptq":
		return true, nil
	default:
		return false, wire.ErrUnsupported.With("checkpoint format %s", wire.Quote(format))
	}
}
