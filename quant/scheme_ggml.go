package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// blockForm is rows of whole blocks of one type, and for NVFP4 a factor of the
// whole tensor or of each matrix. Parts: blocks, factors.
type blockForm struct {
	own
	cols       int64
	codes      codes
	matrixRows int64 // rows that share a factor, 0 for no factors
}

func (f *blockForm) need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		return f.codes.need(lo, hi)
	}
	first := lo / f.matrixRows
	return tensor.Span{Off: 4 * first, Len: 4 * (ceilDiv(hi, f.matrixRows) - first)}
}

func (f *blockForm) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := lo; r < hi; r++ {
		f.codes.row(dst[(r-lo)*f.cols:][:f.cols], parts[0], lo, r)
		if f.matrixRows == 0 {
			continue
		}
		s := numbers[tensor.F32](parts[1], r/f.matrixRows-lo/f.matrixRows)
		opScale.apply(dst[(r-lo)*f.cols:][:f.cols], s, 0)
	}
}

var ggmlScheme = scheme{
	name: "GGML", stores: "all block types of GGUF, the factor of NVFP4", oracle: "gguf-py, ggml's C",
	goldens: []string{"../ggml_*.raw"}, bind: bindBlocks,
	declares: byType,
	mains:    []main{{codes: ".weight", parts: []string{".scale"}}},
}

// bindBlocks takes every tensor whose type is blocks of ggml.
func bindBlocks(s *set, info *tensor.Info) (*Weight, error) {
	codec, ok := CodecOf(info.DType)
	if !ok || !codec.Blocks {
		return nil, nil
	}
	if len(info.Shape) == 0 {
		return nil, wire.ErrUnsupported.With("type %s", info.TypeName())
	}
	g, _ := info.DType.Geometry()
	cols := info.Shape[len(info.Shape)-1]
	rowBytes, ok := g.Size(uint64(cols))
	if !ok {
		return nil, wire.ErrMismatch.With("rows of %d are no whole blocks of %d", cols, g.Elems)
	}
	f := &blockForm{cols: cols, codes: plainRows(int64(rowBytes), codec.Decode)}
	f.codes.kernel = codec.kernel
	w := &Weight{Name: info.Name, Shape: info.Shape, Layout: info.DType.String(), Parts: []tensor.Info{*info}, form: f}
	if info.DType == tensor.NVFP4 {
		return w, s.bindFactor(w, f)
	}
	return w, nil
}

// bindFactor finds the factor that NVFP4 in GGUF is multiplied by: one number,
// or one per matrix of a stack. A model that needs none leaves it out.
func (s *set) bindFactor(w *Weight, f *blockForm) error {
	name := strings.TrimSuffix(w.Name, ".weight") + ".scale"
	factor, ok := s.find(name)
	if !ok {
		return nil
	}
	n := factor.Elements()
	f.matrixRows = 1
	for _, d := range w.Shape[:len(w.Shape)-1] {
		f.matrixRows *= d
	}
	switch {
	case factor.DType != tensor.F32:
		return wire.ErrUnsupported.With("its factor %s is %s", wire.Quote(name), factor.TypeName())
	case n == 1:
	case len(w.Shape) == 3 && n == w.Shape[0]:
		f.matrixRows = w.Shape[1]
	default:
		return wire.ErrMismatch.With("its factor %s has shape %v beside %v", wire.Quote(name), factor.Shape, w.Shape)
	}
	w.Parts = append(w.Parts, *factor)
	return nil
}
