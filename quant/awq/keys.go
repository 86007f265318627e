package awq

import "github.com/anamnesis-go/anamnesis/quant/autoround"

// keys are those of AutoAWQ, in both of its files, GPTQModel, and AutoRound.
var keys = append([]string{
	"bits", "w_bit", "group_size", "q_group_size", "zero_point", "version", "backend", "do_fuse", "modules_to_fuse.**", "modules_to_fuse",
	"fuse_max_seq_len", "exllama_config", "exllama_config.**", "sym", "desc_act", "format", "checkpoint_format", "method", "meta", "meta.**", "pack_dtype=int32|torch.int32", "lm_head",
	"dynamic", "dynamic.*.bits", "dynamic.*.group_size", "dynamic.*.sym", "rotation?", "adapter?", "activation?", "damp_percent", "true_sequential", "static_groups", "model_name_or_path", "model_file_base_name",
	// GPTQModel and the class of transformers write the settings of GPTQ too.
	"act_group_aware", "damp_auto_increment", "tokenizer", "dataset", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block",
	"batch_size", "pad_token_id", "max_input_length", "cache_block_outputs", "modules_in_block_to_quantize", "pack_impl", "offload_to_disk",
	"offload_to_disk_path", "device", "mse", "parallel_packing", "quantizer", "quant_batch_size",
}, autoround.Keys...)
