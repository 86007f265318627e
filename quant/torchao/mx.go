package torchao

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindMX binds FP8 or FP4 in groups under E8M0 scales.
func bindMX(s *scheme.Set, w *scheme.Weight, prefix string, o jsontree.Value) (*scheme.Weight, error) {
	info := &w.Parts[0]
	kind := o.Get("elem_dtype").String()
	if kind == "" {
		kind = o.Within("elem_dtype").Get("_data").String()
	}
	f := &form.Scaled{Cols: info.Shape[1]}
	codec, isFP8 := form.Float8Of(info.DType)
	switch {
	case isFP8 && (kind == "float8_e4m3fn" && info.DType == tensor.F8E4M3 || kind == "float8_e5m2" && info.DType == tensor.F8E5M2):
		f.Codes = form.Float8Row(f.Cols, codec)
	case kind == "float4_e2m1fn_x2" && info.DType == tensor.U8:
		f.Cols *= 2
		f.Codes = form.Fp4Row(f.Cols)
	default:
		return nil, wire.ErrUnsupported.Errorf("TorchAO's MXTensor of %s, stored as %s: its dequantize() can save the model in full", wire.Quote(kind), info.TypeName())
	}
	w.Layout = "MXTensor of " + kind
	return w, bindGroups(s, w, f, prefix, o, form.Numbers[tensor.F8E8M0], tensor.F8E8M0)
}

// bindNVFP4 binds FP4 in groups under E4M3 scales, with an optional global scale.
func bindNVFP4(s *scheme.Set, w *scheme.Weight, prefix string, o jsontree.Value) (*scheme.Weight, error) {
	info := &w.Parts[0]
	if info.DType != tensor.U8 {
		return nil, wire.ErrMismatch.Errorf("NVFP4Tensor holds %s", info.TypeName())
	}
	f := &form.Scaled{Cols: 2 * info.Shape[1]}
	f.Codes = form.Fp4Row(f.Cols)
	if err := bindGroups(s, w, f, prefix, o, form.Numbers[tensor.F8E4M3], tensor.F8E4M3); err != nil {
		return nil, err
	}
	if _, ok := s.Find(prefix + "_per_tensor_scale"); !ok {
		return w, nil
	}
	global, err := s.GlobalGrid(w, prefix+"_per_tensor_scale")
	f.Global = global
	return w, err
}

// bindGroups binds the scales of groups, in rows or in the order of the GPU's
// block-scaled product.
func bindGroups(s *scheme.Set, w *scheme.Weight, f *form.Scaled, prefix string, o jsontree.Value, read form.Number, dtype tensor.DType) error {
	info := &w.Parts[0]
	rows := info.Shape[0]
	group, ok := o.Get("block_size").Int()
	if !ok || group < 1 || f.Cols%group != 0 {
		return wire.ErrMismatch.Errorf("blocks of %d in rows of %d", group, f.Cols)
	}
	w.Shape = []int64{rows, f.Cols}
	w.Layout += fmt.Sprintf(", %d-value blocks", group)
	w.Form = f
	swizzled, err := config.Flag("is_swizzled_scales", o.Get("is_swizzled_scales"))
	if err != nil {
		return err
	}
	if swizzled {
		g, scales, err := s.SwizzledGrid(prefix+"_scale", rows, f.Cols, group, read, dtype)
		if err != nil {
			return err
		}
		f.Scales, f.Scales.Bulk = g, form.BulkOf(dtype)
		w.Parts = append(w.Parts, *scales)
		return nil
	}
	scales, err := s.Companion(prefix+"_scale", []int64{rows, f.Cols / group}, dtype)
	if err != nil {
		return err
	}
	f.Scales = form.GroupGrid(rows, f.Cols, group, 1, read)
	f.Scales.Bulk = form.BulkOf(dtype)
	w.Parts = append(w.Parts, *scales)
	return nil
}
