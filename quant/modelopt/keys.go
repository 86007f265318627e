package modelopt

import (
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
)

// Method is ModelOpt's.
var Method = scheme.Method{Name: "modelopt", Known: keys}

// keys are those of ModelOpt, in its own file and in config.json.
var keys = append([]string{
	"quant_algo", "group_size", "has_zero_point", "pre_quant_scale", "quantized_layers.*.quant_algo", "quantized_layers.*.group_size", "quantized_layers.*.has_zero_point",
	"quantized_layers.*.pre_quant_scale", "quantized_layers?", "quantized_layers.*.kv_cache_quant_algo", "quantized_layers.*.awq_block_size", "awq_block_size", "smoothquant_val",
	"config_groups.*.quant_algo", "config_groups.*.has_zero_point", "config_groups.*.pre_quant_scale", "clamp_val", "exclude_quantize_weights",
}, compressed.Keys...)
