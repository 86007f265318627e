package quant

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindInt8 takes signed bytes under a scale per tensor, row or group, with zero
// points or without: compressed-tensors and Quark.
func bindInt8(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight")
	scales, hasScales := s.find(stem + ".weight_scale")
	if !ok || !hasScales || info.DType != tensor.I8 || len(info.Shape) < 2 || s.config.method() == "gemma" ||
		scales.DType == tensor.F8E8M0 || scales.DType == tensor.U8 {
		return nil, nil
	}
	g, layout, err := s.scaleGrid(info, scales)
	if err != nil {
		return nil, err
	}
	cols := info.Shape[len(info.Shape)-1]
	f := &scaled{cols: cols, codes: int8Row(cols), scales: g}
	w := &Weight{
		Name: info.Name, Shape: info.Shape, Layout: fmt.Sprintf("INT8, %s", layout), Parts: []tensor.Info{*info, *scales}, form: f,
	}
	zeros, ok := s.find(stem + ".weight_zero_point")
	if !ok {
		return w, nil
	}
	if zeros.DType != tensor.I8 || zeros.Elements() != scales.Elements() {
		return nil, mismatch(info, zeros)
	}
	second := g
	second.size, second.read = 1, numbers[tensor.I8]
	f.seconds, f.op = &second, opShift
	w.Parts = append(w.Parts, *zeros)
	return w, nil
}
