package comfy

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/fp8"
	"github.com/anamnesis-go/anamnesis/quant/w8a8"
)

var Scheme = scheme.Scheme{
	Name: schemeName, Stores: "fp8, int8 (ConvRot too), mxfp8 and nvfp4 that the file declares", Oracle: "comfy-kitchen",
	Goldens: []string{"comfyui-fp8", "comfyui-int8*", "comfyui-mxfp8", "comfyui-nvfp4"}, Bind: bind,
	Declares: scheme.ByFile, Priority: 1,
	Mains: []scheme.Main{
		{Codes: ".weight", Parts: []string{".weight_scale", ".comfy_quant", ".weight_scale_2"}},
		{Codes: ".comfy_quant", Parts: []string{".weight"}, Only: true},
	},
	Scales:   []string{"_scale", "_scale_2"},
	Meta:     []string{layersKey},
	Explains: []string{".input_scale", ".scale_input"},
	Besides:  []string{".comfy_quant"}, // it also describes tensors that are cast
	Load:     load,
}

// schemeName is the name of the scheme.
const schemeName = "ComfyUI"

// layersKey is the metadata key in which ComfyUI describes all layers.
const layersKey = "_quantization_metadata"

// load reads the layers that ComfyUI's metadata describes.
func load(s *scheme.Set) (any, error) {
	text, ok := s.Texts[layersKey]
	if !ok {
		return jsontree.Value{}, nil
	}
	v, err := config.Parse(s.Budget, strictjson.Text{Format: "metadata " + wire.Quote(layersKey), Body: text})
	if err != nil {
		return nil, err
	}
	layers := v.Get("layers")
	if v.Kind != strictjson.Object || layers.There && layers.Kind != strictjson.Object {
		return nil, wire.ErrSyntax.Errorf("metadata %s is not an object of layers", wire.Quote(layersKey))
	}
	return layers, nil
}

// formatOf returns the description that ComfyUI has for a tensor's module, from the
// metadata or from a tensor beside it, which then belongs to the weight.
func formatOf(s *scheme.Set, info *tensor.Info) (layer jsontree.Value, own *tensor.Info, err error) {
	stem, ok := scheme.Suffix(info, ".weight")
	if !ok {
		return layer, nil, nil
	}
	layers, _ := s.Kept[schemeName].(jsontree.Value)
	if v := layers.Get(stem); v.There {
		layer, err = layerOf(stem, v)
		return layer, nil, err
	}
	own, ok = s.Find(stem + ".comfy_quant")
	if !ok {
		return layer, nil, nil
	}
	text, err := s.Text(own, scheme.MaxState)
	if err != nil {
		return layer, nil, err
	}
	v, err := config.Parse(s.Budget, text)
	if err != nil {
		return layer, nil, err
	}
	layer, err = layerOf(own.Name, v)
	return layer, own, err
}

func layerOf(name string, v jsontree.Value) (jsontree.Value, error) {
	if v.Kind != strictjson.Object {
		return v, wire.ErrSyntax.Errorf("the description %s is not an object", wire.Quote(name))
	}
	return v, nil
}

// bind binds the weights that ComfyUI describes. They have the names of other
// libraries, but other layouts.
func bind(s *scheme.Set, info *tensor.Info) (w *scheme.Weight, err error) {
	layer, own, err := formatOf(s, info)
	if !layer.There || err != nil {
		return nil, err
	}
	format := layer.Get("format").String()
	stem := strings.TrimSuffix(info.Name, ".weight")
	switch format {
	case "float8_e4m3fn", "float8_e5m2":
		w, err = fp8.Bind(s, info)
	case "int8_tensorwise":
		w, err = w8a8.Bind(s, info)
	case "nvfp4":
		w, err = bindNVFP4(s, info, stem)
	case "mxfp8":
		w, err = bindMXFP8(s, info, stem)
	default:
		return nil, wire.ErrUnsupported.Errorf("ComfyUI's format %s: ComfyUI can save the model unquantized", wire.Quote(format))
	}
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, wire.ErrMismatch.Errorf("%s cannot be ComfyUI's %s", info.TypeName(), format)
	}
	if err := bindRest(s, w, layer, info); err != nil {
		return nil, err
	}
	if own != nil {
		w.Extra = append(w.Extra, *own)
	}
	return w, nil
}

// bindRest applies the rest of the description: ConvRot's rotation, by 256 columns
// unless it says otherwise.
func bindRest(s *scheme.Set, w *scheme.Weight, layer jsontree.Value, info *tensor.Info) error {
	description := &config.Source{File: wire.Quote(info.Name + "'s description"), Object: layer}
	if err := s.Explains(description, keys); err != nil {
		return err
	}
	params := layer.Within("params")
	rotated, err := config.Flag("convrot", config.First(layer.Get("convrot"), params.Get("convrot")))
	if err != nil || !rotated {
		return err
	}
	if layer.Get("format").String() != "int8_tensorwise" {
		return wire.ErrUnsupported.Errorf("ConvRot of ComfyUI's %s", wire.Quote(layer.Get("format").String()))
	}
	size := int64(256)
	if v := config.First(layer.Get("convrot_groupsize"), params.Get("convrot_groupsize")); v.There {
		size, _ = v.Int()
	}
	if size < 4 || size&0x55555555 == 0 {
		return wire.ErrMismatch.Errorf("convrot_groupsize %d is not a power of four", size)
	}
	w.Layout += fmt.Sprintf(", rotated by %d", size)
	return scheme.Rotate(w, size)
}

func bindNVFP4(s *scheme.Set, info *tensor.Info, stem string) (*scheme.Weight, error) {
	if info.DType != tensor.U8 || len(info.Shape) != 2 {
		return nil, nil
	}
	rows, cols := info.Shape[0], 2*info.Shape[1]
	g, scales, err := s.SwizzledGrid(stem+".weight_scale", rows, cols, 16, form.Numbers[tensor.F8E4M3], tensor.F8E4M3, tensor.U8)
	if err != nil {
		return nil, err
	}
	w := &scheme.Weight{Name: info.Name, Shape: []int64{rows, cols}, Layout: "NVFP4, 16-value blocks", Parts: []tensor.Info{*info, *scales}}
	global, err := s.GlobalGrid(w, stem+".weight_scale_2")
	if err != nil {
		return nil, err
	}
	g.Bulk = form.BulkOf(tensor.F8E4M3)
	w.Form = &form.Scaled{Cols: cols, Codes: form.HighFirstRow(cols), Scales: g, Global: global}
	return w, nil
}

func bindMXFP8(s *scheme.Set, info *tensor.Info, stem string) (*scheme.Weight, error) {
	codec, ok := form.Float8Of(info.DType)
	if !ok || len(info.Shape) != 2 {
		return nil, nil
	}
	rows, cols := info.Shape[0], info.Shape[1]
	g, scales, err := s.SwizzledGrid(stem+".weight_scale", rows, cols, 32, form.ExponentOrZero, tensor.F8E8M0, tensor.U8)
	if err != nil {
		return nil, err
	}
	g.Bulk = form.ExponentsOrZero
	return &scheme.Weight{
		Name: info.Name, Shape: info.Shape, Layout: "MXFP8, 32-value blocks", Parts: []tensor.Info{*info, *scales},
		Form: &form.Scaled{Cols: cols, Codes: form.Float8Row(cols, codec), Scales: g},
	}, nil
}

// keys are those of the description of a weight, in a tensor beside it or in the
// metadata.
var keys = []string{
	"format", "convrot", "convrot_groupsize", "params.convrot", "params.convrot_groupsize", "params", "per_row", "orig_dtype", "orig_shape", "group_size",
	"full_precision_matrix_mult", "block_size", "act_unsigned?", "linear_dtype",
}
