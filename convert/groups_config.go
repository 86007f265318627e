package convert

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Members returns the members of config.json that hold the configuration.
func (e *groupedEncoder) Members() []string {
	if e.f.Library == scaled.MLX {
		return []string{"quantization", quantMembers[0]} // mlx-lm reads the first and writes both
	}
	return quantMembers[:1]
}

// Config returns the quantization_config as the format's library writes it.
func (e *groupedEncoder) Config() ([]byte, error) {
	w := jsontree.NewText(e.Budget)
	size := strconv.FormatInt(e.f.Size, 10)
	switch e.f.Library {
	case scaled.MLX:
		w.Put("{\n  \"group_size\": ", size, ",\n  \"bits\": ", strconv.Itoa(e.f.Bits), ",\n  \"mode\": \"", e.f.Mode, "\"")
		for _, module := range e.eight {
			w.Put(",\n  ")
			w.Quote(module)
			w.Put(": {\n    \"group_size\": 64,\n    \"bits\": 8\n  }")
		}
		w.Put("\n}")
		return w.Done()
	case scaled.GPTQModel:
		return e.gptqConfig()
	case scaled.GptOss:
		return e.ossConfig()
	case scaled.TorchAO:
		return torchaoConfig(&e.Linear, scaled.E5M2, wholeMatrix)
	}
	var names []string
	var err error
	if e.f.Library == scaled.AutoAWQ {
		names, err = e.Skipped()
	} else {
		names, err = e.Ignored()
	}
	if err != nil {
		return nil, err
	}
	switch e.f.Library {
	case scaled.AutoAWQ:
		w.Put("{\n  \"backend\": \"autoawq\",\n  \"bits\": 4,\n  \"do_fuse\": false,\n  \"group_size\": ", size, ",\n  \"modules_to_not_convert\": ")
		w.Names(names)
		w.Put(",\n  \"quant_method\": \"awq\",\n  \"version\": \"gemm\",\n  \"zero_point\": true\n}")
	case scaled.ModelOpt:
		e.modelOpt(w, names)
	default:
		e.compressed(w, names)
	}
	return w.Done()
}

// modelOpt writes ModelOpt's configuration with one group. Inputs of 8-bit layers are
// quantized in the same groups at run time.
func (e *groupedEncoder) modelOpt(w *jsontree.Text, ignored []string) {
	size := ""
	if e.f.Size > 0 {
		size = "        \"group_size\": " + strconv.FormatInt(e.f.Size, 10) + ",\n"
	}
	arguments := "{\n        \"dynamic\": false,\n" + size + "        \"num_bits\": " + strconv.Itoa(e.f.Bits) + ",\n        \"type\": \"float\"\n      }"
	algo, activations := "W4A16_NVFP4", ""
	if e.f.Bits == 8 {
		algo, activations = "MXFP8", "      \"input_activations\": "+arguments+",\n"
	}
	if e.f.Size == 0 {
		algo = "FP8"
	}
	groups := "  \"config_groups\": {\n    \"group_0\": {\n" + activations + "      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": " + arguments + "\n    }\n  },\n"
	modelOptConfig(w, algo, groups, ignored)
}

// modelOptConfig writes the common part of ModelOpt's configurations.
func modelOptConfig(w *jsontree.Text, algo, groups string, ignored []string) {
	w.Put("{\n", groups, "  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"producer\": {\n    \"name\": \"modelopt\"\n  },\n  \"quant_algo\": \"", algo, "\",\n  \"quant_method\": \"modelopt\"\n}")
}

// compressed writes a compressed-tensors configuration with one group. Activations are
// quantized at run time if the weights are FP8.
func (e *groupedEncoder) compressed(w *jsontree.Text, ignored []string) {
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
	w.Put("{\n  \"config_groups\": {\n    \"group_0\": {\n      \"input_activations\": ", activations, ",\n      \"output_activations\": null,\n")
	w.Put("      \"targets\": [\n        \"Linear\"\n      ],\n      \"weights\": {\n        \"dynamic\": false,\n        \"group_size\": ", size)
	w.Put(",\n        \"num_bits\": ", strconv.Itoa(e.f.Bits), ",", scale, "\n        \"strategy\": \"", strategy, "\",\n        \"symmetric\": ", symmetric)
	w.Put(",\n        \"type\": \"", kind, "\"\n      }\n    }\n  },\n  \"format\": \"", format, "\",\n  \"ignore\": ")
	w.Names(ignored)
	w.Put(",\n  \"kv_cache_scheme\": null,\n  \"quant_method\": \"compressed-tensors\",\n  \"quantization_status\": \"compressed\"\n}")
}

// gptqConfig returns GPTQModel's configuration. Modules that are left alone match a
// pattern in dynamic that begins with a minus; embeddings and heads need no pattern.
func (e *groupedEncoder) gptqConfig() ([]byte, error) {
	var alone []string
	for i := range e.Kept {
		k := &e.Kept[i]
		if k.Reason == transformers.Embedding || k.Reason == transformers.Head {
			continue
		}
		for _, module := range e.Spellings(strings.TrimSuffix(k.Name, ".weight")) {
			var err error
			if alone, err = limits.Append(e.Budget, alone, "-:^"+strings.ReplaceAll(encode.PlainPattern(module), ".", `\.`)+"$"); err != nil {
				return nil, err
			}
		}
	}
	w := jsontree.NewText(e.Budget)
	w.Put("{\n  \"bits\": ", strconv.Itoa(e.f.Bits))
	if e.listed {
		w.Put(",\n  \"block_name_to_quantize\": \"\"")
	}
	w.Put(",\n  \"checkpoint_format\": \"gptq\",\n  \"desc_act\": false,\n")
	if len(alone) > 0 {
		w.Put("  \"dynamic\": {")
		for i, name := range alone {
			if i > 0 {
				w.Put(",")
			}
			w.Put("\n    ")
			w.Quote(name)
			w.Put(": {}")
		}
		w.Put("\n  },\n")
	}
	w.Put("  \"group_size\": ", strconv.FormatInt(e.f.Size, 10), ",\n  \"lm_head\": false")
	if e.listed {
		e.putBlocks(w)
	}
	w.Put(",\n  \"pack_dtype\": \"int32\",\n  \"quant_method\": \"gptq\",\n  \"sym\": true\n}")
	return w.Done()
}

// loadable notes why transformers would not load GPTQ or AWQ, once all weights are known.
func (e *groupedEncoder) loadable() (err error) {
	switch e.f.Library {
	case scaled.GPTQModel:
		if e.listed, err = e.takesOthers(); err != nil {
			return err
		}
	case scaled.AutoAWQ:
	default:
		return nil
	}
	input := transformers.MainInput(e.Type)
	set := e.SetByHand()
	switch {
	case e.f.Library == scaled.GPTQModel && input != "":
		e.BreaksAgain = "it loads GPTQ of models of text alone, and the main input of these is " + input
	case set >= 0:
		e.BreaksAgain = "it sets the weight of " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + " by hand while it loads, and codes have none"
	case e.listed && transformers.Renames(e.Type):
		e.BreaksAgain = "it gives weights other names when it loads them, and finds modules by their names"
	}
	return nil
}
