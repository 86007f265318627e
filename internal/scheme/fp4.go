package scheme

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Fp4Name is one naming of 4-bit floats: the tensor of codes, its scales, and the
// global scale.
type Fp4Name struct {
	Codes, Name   string // suffix of the codes, and of the weight's name
	Types         []tensor.DType
	Scales        string
	Global        string
	Divides, Plus bool // the global scale divides; code 8 is plus zero
}

// Fp4 matches a tensor with one naming.
func (s *Set) Fp4(info *tensor.Info, n Fp4Name) (stem string, scales *tensor.Info, ok bool) {
	stem, ok = Suffix(info, n.Codes)
	if !ok || !slices.Contains(n.Types, info.DType) || len(info.Shape) < 2 {
		return "", nil, false
	}
	scales, ok = s.Find(stem + n.Scales)
	return stem, scales, ok
}

// Fp4Weight returns a weight of codes, two a byte, with one scale per group of a row.
func (s *Set) Fp4Weight(info, scales *tensor.Info, name string, shape []int64, group int64) (*Weight, *form.Scaled, error) {
	cols := shape[len(shape)-1]
	want := append(slices.Clone(shape[:len(shape)-1]), cols/group)
	if cols%group != 0 || cols == 0 || !Shaped(scales.Shape, want) {
		return nil, nil, Mismatch(info, scales)
	}
	read, size, err := ScaleNumber(scales)
	if scales.DType == tensor.F8E4M3 {
		read, size, err = form.Numbers[tensor.F8E4M3], 1, nil
	}
	if err != nil {
		return nil, nil, err
	}
	rows := info.Elements() * 2 / cols
	f := &form.Scaled{Cols: cols, Codes: form.Fp4Row(cols), Scales: form.GroupGrid(rows, cols, group, size, read)}
	f.Scales.Bulk = form.ScaleBulk(scales.DType)
	return &Weight{Name: name, Shape: shape, Parts: []tensor.Info{*info, *scales}, Form: f}, f, nil
}

// UnpackedShape doubles the last dimension, since a byte holds two codes.
func UnpackedShape(shape []int64) []int64 {
	out := slices.Clone(shape)
	out[len(out)-1] *= 2
	return out
}
