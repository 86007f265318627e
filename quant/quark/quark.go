package quark

import "github.com/anamnesis-go/anamnesis/internal/scheme"

// Method is Quark's.
var Method = scheme.Method{Name: "quark", Known: keys}

// keys are those of Quark. The effect of its algorithms is in the numbers already,
// except for rotations, whose inverse is applied to activations.
var keys = []string{
	"weight_block_size", "global_quant_config.**", "layer_quant_config", "layer_quant_config.**", "layer_type_quant_config", "layer_type_quant_config.**",
	"softmax_quant_spec", "softmax_quant_spec.**", "quant_mode", "export.**", "kv_cache_group", "kv_cache_post_rope", "min_kv_scale", "log_severity_level",
	"algo_config?", "algo_config.name=awq|gptq|gptaq|smooth|autosmoothquant|autoround|qronos", "algo_config.*.name=awq|gptq|gptaq|smooth|autosmoothquant|autoround|qronos",
	"algo_config.**", "pre_quant_opt_config?", "sync_moe_expert_input_amax", "keep_prequantized_layers", "quant_method_config.**",
}
