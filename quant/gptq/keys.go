package gptq

import "github.com/anamnesis-go/anamnesis/quant/autoround"

// keys are those of GPTQModel, AutoGPTQ, the class of transformers, and AutoRound,
// which writes all of its own keys into a GPTQ configuration.
var keys = append([]string{
	"bits", "group_size", "sym", "desc_act", "checkpoint_format", "format", "method", "pack_dtype=int32|torch.int32", "lm_head", "meta", "meta.**",
	"dynamic", "dynamic.*.bits", "dynamic.*.group_size", "dynamic.*.sym", "dynamic.*.desc_act", "dynamic.*.mse", "dynamic.*.damp_percent", "dynamic.*.act_group_aware",
	"damp_percent", "damp_auto_increment", "true_sequential", "static_groups", "act_group_aware", "model_name_or_path", "model_file_base_name", "is_marlin_format?",
	"tokenizer", "dataset", "backend", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block", "batch_size", "pad_token_id",
	"max_input_length", "cache_block_outputs", "modules_in_block_to_quantize", "use_cuda_fp16", "use_exllama", "disable_exllama", "exllama_config.**",
	"pack_impl", "offload_to_disk", "offload_to_disk_path", "device", "mse", "parallel_packing", "quantizer", "quant_batch_size",
	"rotation?", "adapter?", "activation?", "hyb_act",
}, autoround.Keys...)
