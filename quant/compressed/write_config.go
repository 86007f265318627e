package compressed

import (
	"errors"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Config returns a group of compressed-tensors.
func (e *blocks) Config() ([]byte, error) {
	ignored, err := e.Ignored()
	if err != nil {
		return nil, err
	}
	w := jsontree.NewText(e.Budget)
	w.Put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"input_activations\": ", e.activations(), ",\n      \"output_activations\": null,\n")
	w.Put("      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": ", e.weights(), "\n    }\n  },\n  \"format\": \"", e.format(), "\",\n  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"kv_cache_scheme\": null,\n  \"quant_method\": \"compressed-tensors\",\n  \"quantization_status\": \"compressed\"\n}")
	return w.Done()
}

// format returns compressed-tensors' name of the layout.
func (e *blocks) format() string {
	switch e.Format().Code {
	case scaled.E4M3:
		return "float-quantized"
	case scaled.Int8:
		return "int-quantized"
	}
	return "pack-quantized"
}

// activations returns how inputs are quantized at run time: by token, or in blocks as the
// weight; not at all with packed weights.
func (e *blocks) activations() string {
	switch {
	case e.Format().Code.Packed():
		return "null"
	case e.Format().Rows > 1:
		return e.arguments("group", "true", e.Format().Cols)
	}
	return e.arguments("token", "true", 0)
}

func (e *blocks) weights() string {
	switch {
	case e.Format().Rows > 1:
		return e.arguments("block", "false", 0)
	case e.Format().Cols > 0:
		return e.arguments("group", "false", e.Format().Cols)
	}
	return e.arguments("channel", "false", 0)
}

// arguments returns compressed-tensors' QuantizationArgs.
func (e *blocks) arguments(strategy, dynamic string, group int64) string {
	size, kind, block := "null", "int", ""
	if group > 0 {
		size = strconv.FormatInt(group, 10)
	}
	if e.Format().Code == scaled.E4M3 {
		kind = "float"
	}
	if strategy == "block" {
		block = "\n        \"block_structure\": [\n          " + strconv.FormatInt(e.Format().Rows, 10) + ",\n          " + strconv.FormatInt(e.Format().Cols, 10) + "\n        ],"
	}
	return "{" + block + "\n        \"dynamic\": " + dynamic + ",\n        \"group_size\": " + size + ",\n        \"num_bits\": " + strconv.Itoa(e.Format().Code.Bits()) +
		",\n        \"strategy\": \"" + strategy + "\",\n        \"symmetric\": true,\n        \"type\": \"" + kind + "\"\n      }"
}

// Config returns a configuration with one group. Activations are quantized at run time if the
// weights are FP8.
func (e *groups) Config() ([]byte, error) {
	ignored, err := e.Ignored()
	if err != nil {
		return nil, err
	}
	w, f := jsontree.NewText(e.Budget), e.Format()
	format := map[string]string{"fp8_tensor": "float-quantized", "mxfp8": "mxfp8-quantized", "mxfp4": "mxfp4-pack-quantized", "nvfp4": "nvfp4-pack-quantized"}[f.Name]
	if format == "" {
		format = "pack-quantized"
	}
	kind, strategy, size, scale, symmetric := "int", "group", strconv.FormatInt(f.Size, 10), "", "true"
	if f.Float {
		kind = "float"
	}
	switch {
	case f.Size == 0:
		strategy, size = "tensor", "null"
	case f.Global:
		strategy = "tensor_group"
	}
	switch f.Scale {
	case scaled.Exponent:
		scale = "\n        \"scale_dtype\": \"torch.uint8\","
	case scaled.Float8:
		scale = "\n        \"scale_dtype\": \"torch.float8_e4m3fn\","
	}
	if f.Second == scaled.ZeroPoint {
		symmetric = "false"
	}
	activations := "null"
	if f.Size == 0 {
		activations = "{\n        \"dynamic\": true,\n        \"group_size\": null,\n        \"num_bits\": 8,\n        \"strategy\": \"token\",\n        \"symmetric\": true,\n        \"type\": \"float\"\n      }"
	}
	w.Put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"input_activations\": ", activations, ",\n      \"output_activations\": null,\n")
	w.Put("      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": {\n        \"dynamic\": false,\n        \"group_size\": ", size)
	w.Put(",\n        \"num_bits\": ", strconv.Itoa(f.Bits), ",", scale, "\n        \"strategy\": \"", strategy, "\",\n        \"symmetric\": ", symmetric)
	w.Put(",\n        \"type\": \"", kind, "\"\n      }\n    }\n  },\n  \"format\": \"", format, "\",\n  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"kv_cache_scheme\": null,\n  \"quant_method\": \"compressed-tensors\",\n  \"quantization_status\": \"compressed\"\n}")
	return w.Done()
}

// plan lists the tensors of a weight in groups.
func plan(e *encode.GroupedWeight) error {
	p, name, rows, cols := &e.Parts, e.Source.Name, e.Source.Rows(), e.Source.Cols()
	_, scale := e.ScaleType()
	count := e.F.Count(cols)
	switch {
	case e.F.Size == 0:
		return errors.Join(e.Out(&p.Codes, name, tensor.F8E4M3, rows, cols), e.Out(&p.Over, name+"_scale", scale, 1))
	case e.F.Second == scaled.ZeroPoint:
		lines := e.F.Lines()
		return errors.Join(e.Out(&p.Codes, name+"_packed", tensor.I32, rows, e.F.RowBytes(cols)/4), e.Out(&p.Scales, name+"_scale", scale, rows, count),
			e.Out(&p.Seconds, name+"_zero_point", tensor.I32, (rows+lines-1)/lines, count), e.Out(&p.Shape, name+"_shape", tensor.I64, 2))
	case e.F.Bits == 8:
		return errors.Join(e.Out(&p.Codes, name, tensor.F8E4M3, rows, cols), e.Out(&p.Scales, name+"_scale", scale, rows, count))
	}
	err := errors.Join(e.Out(&p.Codes, name+"_packed", tensor.U8, rows, cols/2), e.Out(&p.Scales, name+"_scale", scale, rows, count))
	if e.F.Global {
		err = errors.Join(err, e.Out(&p.Over, name+"_global_scale", tensor.F32, 1))
	}
	return err
}
