package compressed

import "github.com/anamnesis-go/anamnesis/internal/scheme"

// Method is the library's.
var Method = scheme.Method{Name: "compressed-tensors", Known: Keys}

// Keys are those of compressed-tensors. A transform is not among them: its
// weights are stored rotated, and the library rotates their inputs, so decoded weights
// would be those of another model.
var Keys = []string{
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
