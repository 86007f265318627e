package convert

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// members are those of config.json that the configuration stands under.
func (e *groupedEncoder) members() []string {
	if e.f.Library == scaled.MLX {
		return []string{"quantization", quantMembers[0]} // mlx-lm reads the first, and writes both
	}
	return quantMembers[:1]
}

// config is the quantization_config of what was planned, as the format's library
// writes it.
func (e *groupedEncoder) config() ([]byte, error) {
	w := text{b: e.b}
	size := strconv.FormatInt(e.f.Size, 10)
	switch e.f.Library {
	case scaled.MLX:
		w.put("{\n  \"group_size\": ", size, ",\n  \"bits\": ", strconv.Itoa(e.f.Bits), ",\n  \"mode\": \"", e.f.Mode, "\"\n}")
		return w.p, w.err
	case scaled.GPTQModel:
		return e.gptqConfig()
	}
	var names []string
	var err error
	if e.f.Library == scaled.AutoAWQ {
		names, err = e.skipped()
	} else {
		names, err = e.ignored()
	}
	if err != nil {
		return nil, err
	}
	switch e.f.Library {
	case scaled.AutoAWQ:
		w.put("{\n  \"backend\": \"autoawq\",\n  \"bits\": 4,\n  \"do_fuse\": false,\n  \"group_size\": ", size, ",\n  \"modules_to_not_convert\": ")
		w.names(names)
		w.put(",\n  \"quant_method\": \"awq\",\n  \"version\": \"gemm\",\n  \"zero_point\": true\n}")
	case scaled.ModelOpt:
		w.put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": {\n        \"dynamic\": false,\n")
		w.put("        \"group_size\": ", size, ",\n        \"num_bits\": 4,\n        \"type\": \"float\"\n      }\n    }\n  },\n  \"ignore\": ")
		w.names(names)
		w.put(",\n  \"producer\": {\n    \"name\": \"modelopt\"\n  },\n  \"quant_algo\": \"W4A16_NVFP4\",\n  \"quant_method\": \"modelopt\"\n}")
	default:
		e.compressed(&w, names)
	}
	return w.p, w.err
}

// compressed is one group of compressed-tensors. Activations are quantized while the
// model runs where the weights are FP8.
func (e *groupedEncoder) compressed(w *text, ignored []string) {
	format := map[string]string{"fp8_tensor": "float-quantized", "mxfp8": "mxfp8-quantized", "mxfp4": "mxfp4-pack-quantized", "nvfp4": "nvfp4-pack-quantized"}[e.f.Name]
	if format == "" {
		format = "pack-quantized"
	}
	kind, strategy, size, scale, symmetric := "int", "group", strconv.FormatInt(e.f.Size, 10), "", "true"
	if e.f.Float {
		kind = "float"
	}
	switch {
	case e.f.Size == 0:
		strategy, size = "tensor", "null"
	case e.f.Global:
		strategy = "tensor_group"
	}
	switch e.f.Scale {
	case scaled.Exponent:
		scale = "\n        \"scale_dtype\": \"torch.uint8\","
	case scaled.Float8:
		scale = "\n        \"scale_dtype\": \"torch.float8_e4m3fn\","
	}
	if e.f.Second == scaled.ZeroPoint {
		symmetric = "false"
	}
	activations := "null"
	if e.f.Size == 0 {
		activations = "{\n        \"dynamic\": true,\n        \"group_size\": null,\n        \"num_bits\": 8,\n        \"strategy\": \"token\",\n        \"symmetric\": true,\n        \"type\": \"float\"\n      }"
	}
	w.put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"input_activations\": ", activations, ",\n      \"output_activations\": null,\n")
	w.put("      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": {\n        \"dynamic\": false,\n        \"group_size\": ", size)
	w.put(",\n        \"num_bits\": ", strconv.Itoa(e.f.Bits), ",", scale, "\n        \"strategy\": \"", strategy, "\",\n        \"symmetric\": ", symmetric)
	w.put(",\n        \"type\": \"", kind, "\"\n      }\n    }\n  },\n  \"format\": \"", format, "\",\n  \"ignore\": ")
	w.names(ignored)
	w.put(",\n  \"kv_cache_scheme\": null,\n  \"quant_method\": \"compressed-tensors\",\n  \"quantization_status\": \"compressed\"\n}")
}

// gptqConfig is GPTQModel's. A module that is left alone is one whose name matches a
// pattern of dynamic that begins with a minus; embeddings and heads need none.
func (e *groupedEncoder) gptqConfig() ([]byte, error) {
	var alone []string
	for i := range e.Kept {
		k := &e.Kept[i]
		if k.Why == whyEmbedding || k.Why == whyHead {
			continue
		}
		name := "-:^" + strings.ReplaceAll(plainPattern(strings.TrimSuffix(k.Name, ".weight")), ".", `\.`) + "$"
		var err error
		if alone, err = limits.Append(e.b, alone, name); err != nil {
			return nil, err
		}
	}
	w := text{b: e.b}
	w.put("{\n  \"bits\": ", strconv.Itoa(e.f.Bits), ",\n  \"checkpoint_format\": \"gptq\",\n  \"desc_act\": false,\n")
	if len(alone) > 0 {
		w.put("  \"dynamic\": {")
		for i, name := range alone {
			if i > 0 {
				w.put(",")
			}
			w.put("\n    ")
			w.quote(name)
			w.put(": {}")
		}
		w.put("\n  },\n")
	}
	w.put("  \"group_size\": ", strconv.FormatInt(e.f.Size, 10), ",\n  \"lm_head\": false,\n  \"pack_dtype\": \"int32\",\n  \"quant_method\": \"gptq\",\n  \"sym\": true\n}")
	return w.p, w.err
}
