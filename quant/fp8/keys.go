package fp8

import "github.com/anamnesis-go/anamnesis/internal/scheme"

// Method is that of DeepSeek's layout and of transformers' FineGrainedFP8Config.
var Method = scheme.Method{Name: "fp8", Known: keys}

// keys are those of DeepSeek and of transformers' FineGrainedFP8Config.
var keys = []string{
	"fmt", "weight_block_size", "scale_fmt", "expert_dtype", "quant_type", "weight_per_tensor", "act_per_tensor", "fp8_format", "per_channel",
	"weight_scale_method", "weight_scale_semantics=inverse|", "bits", "format", "method", "group_size",
}

// fbgemmKeys are the keys of FBGEMM's configuration.
var fbgemmKeys = []string{"weight_block_size?"}
