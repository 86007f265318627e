package scheme

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Cast returns a tensor of floating-point numbers as a weight that decodes to them, or nil
// for any other type. Its bytes count as row-major; the reader of a view with strides
// reorders them.
func Cast(info *tensor.Info) (*Weight, error) {
	if !slices.Contains([]tensor.DType{tensor.F32, tensor.F16, tensor.BF16}, info.DType) {
		return nil, nil
	}
	g, _ := info.DType.Geometry()
	codec, _ := form.CodecOf(info.DType)
	w := &Weight{Name: info.Name, Shape: info.Shape, Layout: info.DType.String(), Parts: []tensor.Info{*info}, cols: 1}
	if len(w.Shape) > 0 {
		w.cols = w.Shape[len(w.Shape)-1]
	}
	if w.cols > 0 {
		w.rows = info.Elements() / w.cols
	}
	codes := form.PlainRows(w.cols*int64(g.Bytes), codec.Decode)
	codes.Kernel = codec.Kernel
	w.Form = &form.BlockForm{Cols: w.cols, Codes: codes}
	return w, nil
}
