package quant

import "github.com/anamnesis-go/anamnesis/internal/scheme"

// The keys of quantization configurations, by the library that writes them. A scheme of
// that library either reads a key or decodes correctly whatever its value. A key whose
// value changes the numbers is listed with the values that are supported (key=a|b), or
// must be empty (key?). All other keys are refused.

// gptqKeys are those of GPTQModel, AutoGPTQ, the class of transformers, and AutoRound,
// which writes all of its own keys into a GPTQ configuration.
var gptqKeys = append([]string{
	"bits", "group_size", "sym", "desc_act", "checkpoint_format", "format", "method", "pack_dtype=int32|torch.int32", "lm_head", "meta", "meta.**",
	"dynamic", "dynamic.*.bits", "dynamic.*.group_size", "dynamic.*.sym", "dynamic.*.desc_act", "dynamic.*.mse", "dynamic.*.damp_percent", "dynamic.*.act_group_aware",
	"damp_percent", "damp_auto_increment", "true_sequential", "static_groups", "act_group_aware", "model_name_or_path", "model_file_base_name", "is_marlin_format?",
	"tokenizer", "dataset", "backend", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block", "batch_size", "pad_token_id",
	"max_input_length", "cache_block_outputs", "modules_in_block_to_quantize", "use_cuda_fp16", "use_exllama", "disable_exllama", "exllama_config.**",
	"pack_impl", "offload_to_disk", "offload_to_disk_path", "device", "mse", "parallel_packing", "quantizer", "quant_batch_size",
	"rotation?", "adapter?", "activation?", "hyb_act",
}, autoRoundKeys...)

// awqKeys are those of AutoAWQ, in both of its files, GPTQModel, and AutoRound.
var awqKeys = append([]string{
	"bits", "w_bit", "group_size", "q_group_size", "zero_point", "version", "backend", "do_fuse", "modules_to_fuse.**", "modules_to_fuse",
	"fuse_max_seq_len", "exllama_config", "exllama_config.**", "sym", "desc_act", "format", "checkpoint_format", "method", "meta", "meta.**", "pack_dtype=int32|torch.int32", "lm_head",
	"dynamic", "dynamic.*.bits", "dynamic.*.group_size", "dynamic.*.sym", "rotation?", "adapter?", "activation?", "damp_percent", "true_sequential", "static_groups", "model_name_or_path", "model_file_base_name",
	// GPTQModel and the class of transformers write the settings of GPTQ too.
	"act_group_aware", "damp_auto_increment", "tokenizer", "dataset", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block",
	"batch_size", "pad_token_id", "max_input_length", "cache_block_outputs", "modules_in_block_to_quantize", "pack_impl", "offload_to_disk",
	"offload_to_disk_path", "device", "mse", "parallel_packing", "quantizer", "quant_batch_size",
}, autoRoundKeys...)

// fp8Keys are those of DeepSeek and of transformers' FineGrainedFP8Config.
var fp8Keys = []string{
	"fmt", "weight_block_size", "scale_fmt", "expert_dtype", "quant_type", "weight_per_tensor", "act_per_tensor", "fp8_format", "per_channel",
	"weight_scale_method", "weight_scale_semantics=inverse|", "bits", "format", "method", "group_size",
}

var fbgemmKeys = []string{"weight_block_size?"}

// compressedKeys are those of compressed-tensors. A transform is not among them: its
// weights are stored rotated, and the library rotates their inputs, so decoded weights
// would be those of another model.
var compressedKeys = []string{
	"format", "weight_block_size", "global_compression_ratio", "quantization_status", "run_compressed", "use_optimized_inference", "moe_sparsity_config?",
	"sparsity_config.format=dense|sparse-bitmask|sparse-24-bitmask|sparse-24", "sparsity_config.sparsity_structure", "sparsity_config.global_sparsity", "sparsity_config.ignore", "sparsity_config.targets",
	"sparsity_config.registry_requires_subclass", "sparsity_config?", "transform_config?", "transform_config.config_groups?",
	"config_groups.*.targets", "config_groups.*.format", "config_groups.*.weights?", "config_groups.*.weights.num_bits", "config_groups.*.weights.symmetric",
	"config_groups.*.weights.group_size", "config_groups.*.weights.strategy", "config_groups.*.weights.type", "config_groups.*.weights.block_structure",
	"config_groups.*.weights.dynamic?", "config_groups.*.weights.actorder", "config_groups.*.weights.scale_dtype", "config_groups.*.weights.zp_dtype",
	"config_groups.*.weights.observer", "config_groups.*.weights.observer_kwargs.**", "config_groups.*.weights.is_mx",
	"config_groups.*.input_activations", "config_groups.*.input_activations.**", "config_groups.*.output_activations", "config_groups.*.output_activations.**",
	"provider", "attention_input_activations.**", // AutoRound's
}

// modeloptKeys are those of ModelOpt, in its own file and in config.json.
var modeloptKeys = append([]string{
	"quant_algo", "group_size", "has_zero_point", "pre_quant_scale", "quantized_layers.*.quant_algo", "quantized_layers.*.group_size", "quantized_layers.*.has_zero_point",
	"quantized_layers.*.pre_quant_scale", "quantized_layers?", "quantized_layers.*.kv_cache_quant_algo", "quantized_layers.*.awq_block_size", "awq_block_size", "smoothquant_val",
	"config_groups.*.quant_algo", "config_groups.*.has_zero_point", "config_groups.*.pre_quant_scale", "clamp_val", "exclude_quantize_weights",
}, compressedKeys...)

// quarkKeys are those of Quark. The effect of its algorithms is in the numbers already,
// except for rotations, whose inverse is applied to activations.
var quarkKeys = []string{
	"weight_block_size", "global_quant_config.**", "layer_quant_config", "layer_quant_config.**", "layer_type_quant_config", "layer_type_quant_config.**",
	"softmax_quant_spec", "softmax_quant_spec.**", "quant_mode", "export.**", "kv_cache_group", "kv_cache_post_rope", "min_kv_scale", "log_severity_level",
	"algo_config?", "algo_config.name=awq|gptq|gptaq|smooth|autosmoothquant|autoround|qronos", "algo_config.*.name=awq|gptq|gptaq|smooth|autosmoothquant|autoround|qronos",
	"algo_config.**", "pre_quant_opt_config?", "sync_moe_expert_input_amax", "keep_prequantized_layers", "quant_method_config.**",
}

// autoRoundKeys are those of AutoRound, whose models may be of many schemes.
var autoRoundKeys = []string{
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

// autoRoundMethods returns the methods of AutoRound's configuration and more.
func autoRoundMethods(more ...scheme.Method) []scheme.Method {
	return append(more, scheme.Method{Name: "auto-round", Known: autoRoundKeys}, scheme.Method{Name: "intel/auto-round", Known: autoRoundKeys})
}

// mlxKeys are the properties of the model, and those of single modules by their names.
var mlxKeys = []string{"bits", "group_size", "mode", "*=true|", "*.bits", "*.group_size", "*.mode", "*.quantize_input", "*.global_scale=true|"}

var (
	mxfp4Keys   = []string{"swiglu_limit", "use_kernels"}
	torchaoKeys = []string{"quant_type", "quant_type.**", "quant_type_kwargs.**", "quant_type_kwargs", "include_input_output_embeddings", "untie_embedding_weights"}
)

// comfyKeys are those of the description of a weight, in a tensor beside it or in the
// metadata.
var comfyKeys = []string{
	"format", "convrot", "convrot_groupsize", "params.convrot", "params.convrot_groupsize", "params", "per_row", "orig_dtype", "orig_shape", "group_size",
	"full_precision_matrix_mult", "block_size", "act_unsigned?", "linear_dtype",
}

var (
	bflKeys = []string{"compute_dtype", "pre_quantized"}
)
