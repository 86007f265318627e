package scheme

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// defaultBlock is the side of FP8 blocks if no configuration says otherwise: every
// publisher of such files uses it.
const defaultBlock = 128

// ScaleGrid returns the grid of the scales of a weight, and its description. The shapes
// decide everything but the size of blocks.
func (s *Set) ScaleGrid(w, scale *tensor.Info) (form.Grid, string, error) {
	read, size, err := ScaleNumber(scale)
	if err != nil {
		return form.Grid{}, "", err
	}
	if len(w.Shape) == 0 {
		return form.Grid{}, "", wire.ErrUnsupported.Errorf("a scalar with a scale")
	}
	cols := w.Shape[len(w.Shape)-1]
	rows := w.Elements() / cols // an empty tensor is no weight
	g := form.Grid{MatrixRows: rows, BlockRows: rows, BlockCols: cols, Cols: 1, Size: size, Read: read, Bulk: form.ScaleBulk(scale.DType)}
	if len(w.Shape) > 2 {
		g.MatrixRows = w.Shape[len(w.Shape)-2]
	}
	n := scale.Elements()
	have := squeeze(scale.Shape)
	switch {
	case n == 1:
		g.MatrixRows, g.BlockRows = rows, rows
		return g, "one scale", nil
	case len(w.Shape) == 1:
		return s.blockGrid(g, w, scale, []int64{1, n})
	case s.Options.Block == [2]int64{} && blocksApart(w, scale):
		g.BlockRows, g.BlockCols, g.Cols = defaultBlock, defaultBlock, scale.Shape[2]
		return g, fmt.Sprintf("%dx%d blocks", defaultBlock, defaultBlock), nil
	case n == rows && (len(have) == 1 || lastIsOne(scale.Shape)) && !s.perColumn(w, scale):
		g.BlockRows = 1
		return g, "one scale per row", nil
	case s.perColumn(w, scale):
		g.BlockRows, g.BlockCols, g.Cols = g.MatrixRows, 1, cols
		return g, "one scale per column", nil
	case len(w.Shape) > 2 && len(have) == 1 && n == rows/g.MatrixRows:
		g.BlockRows = g.MatrixRows
		return g, "one scale per matrix", nil
	case len(have) >= 2:
		return s.blockGrid(g, w, scale, have[len(have)-2:])
	default:
		return form.Grid{}, "", Mismatch(w, scale)
	}
}

// blocksApart reports whether scales are of blocks of 128 x 128, with a dimension of 1 after each
// number of blocks, as ModelOpt stores them. A scale per row of a weight with 16,384
// columns would have the same count, so shapes are compared.
func blocksApart(w, scale *tensor.Info) bool {
	if len(w.Shape) != 2 || len(scale.Shape) != 4 || scale.Shape[2] == 1 {
		return false
	}
	return Shaped(scale.Shape, []int64{form.CeilDiv(w.Shape[0], defaultBlock), 1, form.CeilDiv(w.Shape[1], defaultBlock), 1})
}

// perColumn reports whether scales are those of Llama-4's fused experts: the weight is
// [E, in, out] and the scale [E, 1, out], or [E, out, 1] as before transposing, or [E,
// out] as ModelOpt stores it.
func (s *Set) perColumn(w, scale *tensor.Info) bool {
	if len(w.Shape) != 3 {
		return false
	}
	e, out := w.Shape[0], w.Shape[2]
	if scale.Name == w.Name+"_weight_scale" { // ModelOpt's name for fused experts
		return Shaped(scale.Shape, []int64{e, out}) || Shaped(scale.Shape, []int64{e, 1, out})
	}
	if !s.Table.stacked[s.Config.Method()] {
		return false
	}
	return Shaped(scale.Shape, []int64{e, 1, out}) || Shaped(scale.Shape, []int64{e, out, 1})
}

func lastIsOne(shape []int64) bool { return len(shape) > 1 && shape[len(shape)-1] == 1 }

// squeeze drops the dimensions of 1 that some writers keep between blocks.
func squeeze(shape []int64) []int64 {
	if len(shape) <= 3 {
		return shape
	}
	return slices.DeleteFunc(slices.Clone(shape), func(d int64) bool { return d == 1 })
}

// blockGrid finds the size of blocks for a grid of have[0] x have[1].
func (s *Set) blockGrid(g form.Grid, w, scale *tensor.Info, have []int64) (form.Grid, string, error) {
	cols := w.Shape[len(w.Shape)-1]
	if scale.Elements() != have[0]*have[1]*(w.Elements()/cols/g.MatrixRows) {
		return form.Grid{}, "", Mismatch(w, scale)
	}
	block, said, err := s.blockSize(w, have, g.MatrixRows, cols)
	if err != nil {
		return form.Grid{}, "", err
	}
	if block[0] > 0 && block[1] > 0 && form.CeilDiv(g.MatrixRows, block[0]) == have[0] && form.CeilDiv(cols, block[1]) == have[1] {
		g.BlockRows, g.BlockCols, g.Cols = block[0], block[1], have[1]
		return g, fmt.Sprintf("%dx%d blocks", block[0], block[1]), nil
	}
	if said != "" {
		return form.Grid{}, "", wire.ErrMismatch.Errorf("%s says %s [%d %d], but %s has shape %v beside %v: %s decides",
			s.Config.File, said, block[0], block[1], wire.Quote(scale.Name), scale.Shape, w.Shape, wire.OptionBlock)
	}
	return form.Grid{}, "", wire.ErrUnsupported.Errorf("%s has shape %v beside %v: %s says the size of its blocks",
		wire.Quote(scale.Name), scale.Shape, w.Shape, wire.OptionBlock)
}

// blockSize returns the caller's size, else the configuration's (said is its key), else
// that of groups of a row that divide it, else the default.
func (s *Set) blockSize(w *tensor.Info, have []int64, rows, cols int64) (block [2]int64, said string, err error) {
	if s.Options.Block != block {
		return s.Options.Block, "", nil
	}
	if v := s.Config.Quant.Get("weight_block_size"); v.There {
		return twoWhole(v), "weight_block_size", nil
	}
	groups, err := s.Groups(strings.TrimSuffix(w.Name, ".weight"))
	if err != nil {
		return block, "", err
	}
	for _, g := range groups { // of compressed-tensors
		if of := g.Within("weights"); of.Get("strategy").String() == "block" {
			return twoWhole(of.Get("block_structure")), "block_structure", nil
		}
	}
	if have[0] == rows && cols%have[1] == 0 {
		return [2]int64{1, cols / have[1]}, "", nil
	}
	return [2]int64{defaultBlock, defaultBlock}, "", nil
}

// twoWhole returns a list of two integers; anything else is 0.
func twoWhole(v jsontree.Value) (out [2]int64) {
	if list := v.List(); len(list) == 2 {
		out[0], _ = list[0].Int()
		out[1], _ = list[1].Int()
	}
	return out
}

// ScaleNumber returns how to read a scale, and its size; a plain byte is an exponent.
func ScaleNumber(scale *tensor.Info) (form.Number, int64, error) {
	if scale.DType == tensor.U8 {
		return form.ExponentByte, 1, nil
	}
	g, _ := scale.DType.Geometry()
	switch scale.DType {
	case tensor.F32, tensor.F16, tensor.BF16, tensor.F8E8M0:
		return form.Numbers[scale.DType], int64(g.Bytes), nil
	}
	return nil, 0, wire.ErrUnsupported.Errorf("its scale %s is %s", wire.Quote(scale.Name), scale.TypeName())
}

func Mismatch(w, scale *tensor.Info) error {
	return wire.ErrMismatch.Errorf("its scale %s has shape %v beside %v", wire.Quote(scale.Name), scale.Shape, w.Shape)
}
