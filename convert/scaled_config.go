package convert

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Config returns the quantization_config: transformers' FineGrainedFP8Config, or a group
// of compressed-tensors.
func (e *scaledEncoder) Config() ([]byte, error) {
	w := jsontree.NewText(e.Budget)
	if e.f.Inverse {
		skip, err := e.Skipped()
		if err != nil {
			return nil, err
		}
		w.Put("{\n  \"activation_scheme\": \"dynamic\",\n  \"fmt\": \"e4m3\",\n  \"modules_to_not_convert\": ")
		w.Names(skip)
		w.Put(",\n  \"quant_method\": \"fp8\",\n  \"weight_block_size\": [\n    ", strconv.FormatInt(e.f.Rows, 10), ",\n    ", strconv.FormatInt(e.f.Cols, 10), "\n  ]\n}")
		return w.Done()
	}
	if e.f.Library == scaled.TorchAO {
		return torchaoConfig(&e.Linear, e.f.Code, e.f.Cols)
	}
	ignored, err := e.Ignored()
	if err != nil {
		return nil, err
	}
	if e.f.Library == scaled.ModelOpt {
		algo := map[bool]string{true: "FP8_PER_CHANNEL_PER_TOKEN", false: "FP8_PB_WO"}[e.f.Rows == 1]
		modelOptConfig(w, algo, "", ignored)
		return w.Done()
	}
	w.Put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"input_activations\": ", e.activations(), ",\n      \"output_activations\": null,\n")
	w.Put("      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": ", e.weights(), "\n    }\n  },\n  \"format\": \"", e.format(), "\",\n  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"kv_cache_scheme\": null,\n  \"quant_method\": \"compressed-tensors\",\n  \"quantization_status\": \"compressed\"\n}")
	return w.Done()
}

// format returns compressed-tensors' name of the layout.
func (e *scaledEncoder) format() string {
	switch e.f.Code {
	case scaled.E4M3:
		return "float-quantized"
	case scaled.Int8:
		return "int-quantized"
	}
	return "pack-quantized"
}

// activations returns how inputs are quantized at run time: by token, or in blocks as the
// weight; not at all with packed weights.
func (e *scaledEncoder) activations() string {
	switch {
	case e.f.Code.Packed():
		return "null"
	case e.f.Rows > 1:
		return e.arguments("group", "true", e.f.Cols)
	}
	return e.arguments("token", "true", 0)
}

func (e *scaledEncoder) weights() string {
	switch {
	case e.f.Rows > 1:
		return e.arguments("block", "false", 0)
	case e.f.Cols > 0:
		return e.arguments("group", "false", e.f.Cols)
	}
	return e.arguments("channel", "false", 0)
}

// arguments returns compressed-tensors' QuantizationArgs.
func (e *scaledEncoder) arguments(strategy, dynamic string, group int64) string {
	size, kind, block := "null", "int", ""
	if group > 0 {
		size = strconv.FormatInt(group, 10)
	}
	if e.f.Code == scaled.E4M3 {
		kind = "float"
	}
	if strategy == "block" {
		block = "\n        \"block_structure\": [\n          " + strconv.FormatInt(e.f.Rows, 10) + ",\n          " + strconv.FormatInt(e.f.Cols, 10) + "\n        ],"
	}
	return "{" + block + "\n        \"dynamic\": " + dynamic + ",\n        \"group_size\": " + size + ",\n        \"num_bits\": " + strconv.Itoa(e.f.Code.Bits()) +
		",\n        \"strategy\": \"" + strategy + "\",\n        \"symmetric\": true,\n        \"type\": \"" + kind + "\"\n      }"
}
