package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A scheme recognizes the main tensor of a quantized weight, by name, type,
// shape, companions and configuration, and binds its parts. It gives nil for a
// tensor that is not its own, and an error for one that is but cannot be read.
// The rows exclude each other: at most one binds a tensor.
type scheme struct {
	name string
	bind func(*set, *tensor.Info) (*Weight, error)
}

var schemes = [...]scheme{
	{"GGML", bindBlocks},
	{"BitsAndBytes 4-bit", bindBnb4},
	{"BitsAndBytes INT8", bindBnb8},
	{"GPTQ", bindGPTQ},
	{"AWQ", bindAWQ},
	{"FP8", bindFP8},
	{"NVFP4", bindNVFP4},
	{"MXFP4", bindMXFP4},
	{"compressed-tensors packed", bindPacked},
	{"INT8", bindInt8},
	{"MLX", bindMLX},
	{"AWQ GEMV", bindAWQGEMV},
	{"AWQ GEMV_FAST", bindAWQFast},
	{"BitNet", bindBitNet},
	{"ModelOpt INT4", bindModelOpt4},
	{"Gemma", bindGemma},
	{"HQQ", bindHQQ},
	{"sparse bitmask", bindSparse},
	{"TorchAO", bindTorchAO},
	{"refused", bindRefused},
}
