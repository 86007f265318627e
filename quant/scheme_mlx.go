package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindMLX takes MLX's weights: fields of 1 to 8 bits in a stream of words along
// each row, under a scale and, in the affine mode, a bias per group.
func bindMLX(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight")
	scales, hasScales := s.find(stem + ".scales")
	if !ok || !hasScales || info.DType != tensor.U32 || len(info.Shape) < 2 || len(scales.Shape) != len(info.Shape) {
		return nil, nil
	}
	last := len(info.Shape) - 1
	if !shaped(scales.Shape[:last], info.Shape[:last]) {
		return nil, mismatch(info, scales)
	}
	mode, bits, group, err := s.mlxMode(stem)
	if err != nil {
		return nil, err
	}
	words, groups := info.Shape[last], scales.Shape[last]
	cols := words * 32 / bits
	if cols*bits != words*32 || groups == 0 || groups*group != cols {
		return nil, wire.ErrMismatch.With("%s has shape %v beside %v, but %s says %d bits in groups of %d",
			wire.Quote(scales.Name), scales.Shape, info.Shape, s.config.file, bits, group)
	}
	shape := append(append([]int64(nil), info.Shape[:last]...), cols)
	rows := info.Elements() / words
	w := &Weight{Name: info.Name, Shape: shape, Layout: mode + ", " + describe(bits, group), Parts: []tensor.Info{*info, *scales}}
	if mode != "affine" {
		return w, s.mlxFloat(w, mode, cols, rows, group, scales)
	}
	return w, s.mlxAffine(w, stem, cols, rows, bits, group, scales)
}

// mlxMode reads the mode of a module: its own entry, else that of the model.
// Shapes alone give only the ratio of bits to group size.
func (s *set) mlxMode(stem string) (mode string, bits, group int64, err error) {
	all := s.config.quant
	own := all.at(stem)
	pick := func(name string) (int64, bool) {
		if n, ok := own.whole(name); ok {
			return n, true
		}
		return all.whole(name)
	}
	bits, hasBits := pick("bits")
	group, hasGroup := pick("group_size")
	if mode = own.text("mode"); mode == "" {
		mode = all.text("mode")
	}
	if mode == "" {
		mode = "affine"
	}
	if !hasBits || !hasGroup {
		return "", 0, 0, wire.ErrMissing.With("bits and group_size of MLX: the model's config.json says them under quantization")
	}
	if bits < 1 || bits > 8 || bits == 7 || group < 1 || group > 1<<20 {
		return "", 0, 0, wire.ErrUnsupported.With("%d bits in groups of %d", bits, group)
	}
	return mode, bits, group, nil
}

func (s *set) mlxAffine(w *Weight, stem string, cols, rows, bits, group int64, scales *tensor.Info) error {
	name := stem + ".biases"
	if _, ok := s.find(stem + ".qbiases"); ok { // as transformers writes the same
		name = stem + ".qbiases"
	}
	biases, err := s.companion(name, scales.Shape, scales.DType)
	if err != nil {
		return err
	}
	read, size, err := scaleNumber(scales)
	if err != nil {
		return err
	}
	g := groupGrid(rows, cols, group, size, read)
	w.form = &scaled{cols: cols, codes: streamRow(cols, bits, cols*bits/8, 0), scales: g, seconds: &g, op: opAffine}
	w.Parts = append(w.Parts, *biases)
	return nil
}

// mlxFloat is the modes of small floats: the same words, other codes.
func (s *set) mlxFloat(w *Weight, mode string, cols, rows, group int64, scales *tensor.Info) error {
	if scales.DType != tensor.U8 {
		return wire.ErrUnsupported.With("its scales %s are %s", wire.Quote(scales.Name), scales.TypeName())
	}
	f := &scaled{cols: cols, scales: groupGrid(rows, cols, group, 1, exponentByte)}
	switch strings.ToLower(mode) {
	case "mxfp4":
		f.codes = fp4Row(cols)
	case "nvfp4":
		f.codes, f.scales.read = fp4Row(cols), numbers[tensor.F8E4M3]
	case "mxfp8":
		f.codes = float8Row(cols, asm.E4M3)
	default:
		return wire.ErrUnsupported.With("MLX mode %s", wire.Quote(mode))
	}
	w.form = f
	return nil
}
