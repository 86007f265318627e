package ggml

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "GGML", Stores: "all block types of GGUF; NVFP4 with its factor", Oracle: "gguf-py, ggml's C",
	Goldens: []string{"../../../testdata/quant/ggml_*.raw"}, Bind: bind,
	Declares: scheme.ByType,
	Mains:    []scheme.Main{{Codes: ".weight", Parts: []string{".scale"}}},
}

// bind binds every tensor whose type is one of ggml's block types.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	codec, ok := form.CodecOf(info.DType)
	if !ok || !codec.Blocks {
		return nil, nil
	}
	g, _ := info.DType.Geometry()
	cols := int64(1)
	if len(info.Shape) > 0 {
		cols = info.Shape[len(info.Shape)-1]
	}
	rowBytes, ok := g.Size(uint64(cols))
	if !ok { // a caller's model: parser/gguf takes only whole blocks
		return nil, wire.ErrMismatch.Errorf("rows of %d are not whole blocks of %d", cols, g.Elems)
	}
	f := &form.BlockForm{Cols: cols, Codes: form.PlainRows(int64(rowBytes), codec.Decode)}
	f.Codes.Kernel = codec.Kernel
	w := &scheme.Weight{Name: info.Name, Shape: info.Shape, Layout: info.DType.String(), Parts: []tensor.Info{*info}, Form: f}
	if info.DType == tensor.NVFP4 {
		return w, bindFactor(s, w, f)
	}
	return w, nil
}

// bindFactor binds the factor of NVFP4 in GGUF: one number, or one per matrix of a stack.
// It is optional.
func bindFactor(s *scheme.Set, w *scheme.Weight, f *form.BlockForm) error {
	name := strings.TrimSuffix(w.Name, ".weight") + ".scale"
	factor, ok := s.Find(name)
	if !ok {
		return nil
	}
	n := factor.Elements()
	f.MatrixRows = 1
	for _, d := range w.Shape[:len(w.Shape)-1] {
		f.MatrixRows *= d
	}
	switch {
	case factor.DType != tensor.F32:
		return wire.ErrUnsupported.Errorf("its factor %s is %s", wire.Quote(name), factor.TypeName())
	case n == 1:
	case len(w.Shape) == 3 && n == w.Shape[0]:
		f.MatrixRows = w.Shape[1]
	default:
		return wire.ErrMismatch.Errorf("its factor %s has shape %v beside %v", wire.Quote(name), factor.Shape, w.Shape)
	}
	w.Parts = append(w.Parts, *factor)
	return nil
}
