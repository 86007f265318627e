package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindAWQ takes AutoAWQ's GEMM layout: a row of qweight holds the codes of as
// many outputs as scales have columns.
func bindAWQ(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".qweight")
	scales, hasScales := s.find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.I32 || len(info.Shape) != 2 || len(scales.Shape) != 2 || scales.Shape[1] == 0 {
		return nil, nil
	}
	in, out, groups := info.Shape[0], scales.Shape[1], scales.Shape[0]
	bits := info.Shape[1] * 32 / out
	if bits < 2 || bits > 8 || out*bits != info.Shape[1]*32 || bits != 4 && s.config.method() != "awq" {
		return nil, nil
	}
	if m := s.config.method(); m == "gptq" {
		return nil, wire.ErrMismatch.With("%s says gptq, but %s is packed as AWQ packs", s.config.file, wire.Quote(info.Name))
	}
	zeros, err := s.companion(stem+".qzeros", []int64{groups, info.Shape[1]}, tensor.I32)
	if err != nil {
		return nil, err
	}
	if groups == 0 || in%groups != 0 {
		return nil, wire.ErrMismatch.With("%d inputs in %d groups", in, groups)
	}
	f := &awq{in: in, out: out, groups: groups, bits: bits, groupSize: in / groups}
	if f.scale, f.scaleSize, err = scaleNumber(scales); err != nil {
		return nil, err
	}
	f.bulk = bulkOf(scales.DType)
	return &Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: describe(bits, f.groupSize),
		Parts: []tensor.Info{*info, *scales, *zeros}, form: f,
	}, nil
}
