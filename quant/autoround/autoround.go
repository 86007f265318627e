package autoround

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
)

// Wrote reports whether the configuration is AutoRound's, under either of its names.
func Wrote(s *scheme.Set) bool { return strings.HasSuffix(s.Config.Method(), "auto-round") }

// Methods returns the methods of AutoRound's configuration and more.
func Methods(more ...scheme.Method) []scheme.Method {
	return append(more, scheme.Method{Name: "auto-round", Known: Keys}, scheme.Method{Name: "intel/auto-round", Known: Keys})
}

// Keys are those of AutoRound, whose models may be of many schemes.
var Keys = []string{
	"bits", "group_size", "sym", "data_type", "packing_format", "backend", "autoround_version", "block_name_to_quantize", "quant_block_list", "to_quant_block_names",
	"act_bits", "act_group_size", "act_sym", "act_data_type", "act_dynamic", "amp", "batch_size", "enable_minmax_tuning", "enable_norm_bias_tuning", "enable_quanted_input",
	"gradient_accumulate_steps", "iters", "lr", "low_gpu_mem_usage", "minmax_lr", "nsamples", "scale_dtype", "seqlen", "supported_types", "static_attention_dtype",
	"static_kv_dtype", "static_attention_granularity", "static_kv_granularity", "super_bits?", "super_group_size?", "damp_percent", "desc_act", "true_sequential", "lm_head",
	"regex_config", "extra_config", "modules_in_block_to_quantize", "dataset", "model_free", "weight_block_size", "fmt", "zero_point", "version", "scale_format",
	"extra_config.*.bits", "extra_config.*.group_size", "extra_config.*.sym", "extra_config.*.data_type", "extra_config.*.act_bits", "extra_config.*.act_group_size",
	"extra_config.*.act_sym", "extra_config.*.act_data_type", "extra_config.*.act_dynamic", "extra_config.*.super_bits?", "extra_config.*.super_group_size?",
	"extra_config.*.scale_dtype", "extra_config.*.rotation_config?", "extra_config.*.fixed_by_user",
	"regex_config.*.bits", "regex_config.*.group_size", "regex_config.*.sym", "regex_config.*.data_type", "regex_config.*.act_bits", "regex_config.*.act_group_size",
	"regex_config.*.act_sym", "regex_config.*.act_data_type", "regex_config.*.act_dynamic", "regex_config.*.super_bits?", "regex_config.*.super_group_size?",
	"regex_config.*.scale_dtype", "regex_config.*.rotation_config?", "regex_config.*.fixed_by_user",
	"rotation_config?", "rotation_configs?",
	"provider", "train_bs", "n_samples", // version 0.2 wrote batch_size and nsamples as these
}
