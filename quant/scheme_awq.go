package quant

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindAWQ takes AutoAWQ's GEMM layout: qweight has an eighth of scales' columns.
func bindAWQ(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".qweight")
	scales, hasScales := s.find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.I32 || len(info.Shape) != 2 || len(scales.Shape) != 2 ||
		info.Shape[1]*8 != scales.Shape[1] || scales.Shape[1] == 0 {
		return nil, nil
	}
	in, out, groups := info.Shape[0], scales.Shape[1], scales.Shape[0]
	zeros, err := s.companion(stem+".qzeros", []int64{groups, out / 8}, tensor.I32)
	if err != nil {
		return nil, err
	}
	if groups == 0 || in%groups != 0 {
		return nil, wire.ErrMismatch.With("%d inputs in %d groups", in, groups)
	}
	f := &awq{in: in, out: out, groups: groups, groupSize: in / groups}
	if f.scale, f.scaleSize, err = scaleNumber(scales); err != nil {
		return nil, err
	}
	return &Weight{
		Name: stem + ".weight", Shape: []int64{out, in}, Layout: fmt.Sprintf("4 bits, groups of %d", f.groupSize),
		Parts: []tensor.Info{*info, *scales, *zeros}, form: f,
	}, nil
}
