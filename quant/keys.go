package quant

import "github.com/anamnesis-go/anamnesis/quant/autoround"

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
}, autoround.Keys...)

// awqKeys are those of AutoAWQ, in both of its files, GPTQModel, and AutoRound.
var awqKeys = append([]string{
	"bits", "w_bit", "group_size", "q_group_size", "zero_point", "version", "backend", "do_fuse", "modules_to_fuse.**", "modules_to_fuse",
	"fuse_max_seq_len", "exllama_config", "exllama_config.**", "sym", "desc_act", "format", "checkpoint_format", "method", "meta", "meta.**", "pack_dtype=int32|torch.int32", "lm_head",
	"dynamic", "dynamic.*.bits", "dynamic.*.group_size", "dynamic.*.sym", "rotation?", "adapter?", "activation?", "damp_percent", "true_sequential", "static_groups", "model_name_or_path", "model_file_base_name",
	// GPTQModel and the class of transformers write the settings of GPTQ too.
	"act_group_aware", "damp_auto_increment", "tokenizer", "dataset", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block",
	"batch_size", "pad_token_id", "max_input_length", "cache_block_outputs", "modules_in_block_to_quantize", "pack_impl", "offload_to_disk",
	"offload_to_disk_path", "device", "mse", "parallel_packing", "quantizer", "quant_batch_size",
}, autoround.Keys...)

// mlxKeys are the properties of the model, and those of single modules by their names.
var mlxKeys = []string{"bits", "group_size", "mode", "*=true|", "*.bits", "*.group_size", "*.mode", "*.quantize_input", "*.global_scale=true|"}

var (
	torchaoKeys = []string{"quant_type", "quant_type.**", "quant_type_kwargs.**", "quant_type_kwargs", "include_input_output_embeddings", "untie_embedding_weights"}
)
