package torchao

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "TorchAO", Stores: "Int8Tensor, IntxUnpackedToInt8Tensor, Float8Tensor, MXTensor (FP8, FP4), NVFP4Tensor", Oracle: "torchao",
	Goldens: []string{"torchao-*"}, Bind: bind,
	Declares:  scheme.ByFile,
	Methods:   []scheme.Method{{Name: "torchao", Known: keys}},
	Mains:     []scheme.Main{{Codes: "_qdata", Parts: []string{"_scale", "_zero_point", "_per_tensor_scale"}, Only: true}},
	Scales:    []string{"_scale", "_zero_point"},
	Meta:      []string{namesKey},
	Described: true,
	Claims: func(s *scheme.Set, info *tensor.Info) bool {
		_, written := s.Texts[namesKey]
		return written && strings.HasSuffix(info.Name, "_qdata")
	},
}

// namesKey is the metadata key that lists the tensors of a file written by TorchAO;
// each has a description under its name.
const namesKey = "tensor_names"

// bind binds the plain types of TorchAO, whose metadata describes every tensor:
// module._weight_qdata stands for module.weight.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	prefix, ok := scheme.Suffix(info, "_qdata")
	dot := strings.LastIndex(prefix, "._")
	if !ok || dot < 0 || len(info.Shape) != 2 {
		return nil, nil
	}
	if _, ok := s.Texts[namesKey]; !ok {
		return nil, nil
	}
	name := prefix[:dot] + "." + prefix[dot+2:]
	text, ok := s.Texts[name]
	if !ok {
		return nil, wire.ErrMissing.Errorf("a description of %s in the metadata", wire.Quote(name))
	}
	o, err := config.Parse(s.Budget, strictjson.Text{Format: "metadata " + wire.Quote(name), Body: text})
	if err != nil {
		return nil, err
	}
	w := &scheme.Weight{Name: name, Shape: info.Shape, Parts: []tensor.Info{*info}, Layout: o.Get("_type").String()}
	switch o.Get("_type").String() {
	case "Int8Tensor", "IntxUnpackedToInt8Tensor":
		return w, bindRows(s, w, prefix, tensor.I8, form.Int8Row)
	case "Float8Tensor":
		codec, ok := form.Float8Of(info.DType)
		if !ok {
			return nil, wire.ErrMismatch.Errorf("Float8Tensor holds %s", info.TypeName())
		}
		return w, bindRows(s, w, prefix, info.DType, func(cols int64) form.Codes { return form.Float8Row(cols, codec) })
	case "MXTensor":
		return bindMX(s, w, prefix, o.Within("_data"))
	case "NVFP4Tensor":
		return bindNVFP4(s, w, prefix, o.Within("_data"))
	default:
		return nil, wire.ErrUnsupported.Errorf("TorchAO's %s: its dequantize() can save the model in full", wire.Quote(o.Get("_type").String()))
	}
}

// bindRows binds codes of a byte with scales per row or group, and zero points of the
// same shape.
func bindRows(s *scheme.Set, w *scheme.Weight, prefix string, want tensor.DType, rows func(cols int64) form.Codes) error {
	info := &w.Parts[0]
	scale, ok := s.Find(prefix + "_scale")
	if !ok {
		return wire.ErrMissing.Errorf("its companion %s", wire.Quote(prefix+"_scale"))
	}
	if info.DType != want {
		return wire.ErrMismatch.Errorf("%s holds %s", w.Layout, info.TypeName())
	}
	g, _, err := s.ScaleGrid(info, scale)
	if err != nil {
		return err
	}
	cols := info.Shape[1]
	f := &form.Scaled{Cols: cols, Codes: rows(cols), Scales: g}
	w.Parts, w.Form = append(w.Parts, *scale), f
	zero, ok := s.Find(prefix + "_zero_point")
	if !ok {
		return nil
	}
	read, size := form.Numbers[zero.DType], int64(1)
	if geometry, known := zero.DType.Geometry(); known {
		size = int64(geometry.Bytes)
	}
	if read == nil || zero.Elements() != scale.Elements() {
		return scheme.Mismatch(info, zero)
	}
	z := g
	z.Read, z.Size, z.Bulk = read, size, nil
	if zero.DType == tensor.I8 {
		z.Bulk = form.BulkOf(tensor.I8)
	}
	f.Seconds, f.Op = &z, asm.Shift
	w.Parts = append(w.Parts, *zero)
	return nil
}

// keys are those of its configuration.
var keys = []string{"quant_type", "quant_type.**", "quant_type_kwargs.**", "quant_type_kwargs", "include_input_output_embeddings", "untie_embedding_weights"}
