package quant

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A scheme recognizes the main tensor of a quantized weight, by name, type,
// shape, companions and configuration, and binds its parts. It gives nil for a
// tensor that is not its own, and an error for one that is but cannot be read.
// The rows exclude each other: at most one binds a tensor.
type scheme struct {
	name   string
	stores string // what it covers
	oracle string // whose decoder it is compared with, bit for bit
	bind   func(*set, *tensor.Info) (*Weight, error)
}

// Every scheme is one row. ComfyUI's comes first: what it declares decides.
var schemes = [...]scheme{
	{"ComfyUI", "fp8, int8, mxfp8 and nvfp4 that the file declares", "comfy-kitchen", bindComfy},
	{"GGML", "all block types of GGUF, the factor of NVFP4", "gguf-py, ggml's C", bindBlocks},
	{"BitsAndBytes 4-bit", "NF4 and FP4, nested scales, any storage type", "bitsandbytes", bindBnb4},
	{"BitsAndBytes INT8", "rows of LLM.int8()", "bitsandbytes", bindBnb8},
	{"GPTQ", "2, 3, 4, 8 bits, both versions of zero points, act-order; AutoRound's 2 to 8 bits", "GPTQModel, auto-round", bindGPTQ},
	{"AWQ", "GEMM, 4 bits; GPTQModel's 2 to 8 bits", "AutoAWQ, GPTQModel", bindAWQ},
	{"FP8", "E4M3, E5M2 and FNUZ; scales of tensors, rows, columns, groups, blocks, experts; fbgemm; DeepSeek-V4; MXFP8; plain casts", "compressed-tensors, transformers, torch", bindFP8},
	{"NVFP4", "compressed-tensors and AutoRound (divide), ModelOpt (multiplies), fused experts", "compressed-tensors, ModelOpt", bindNVFP4},
	{"MXFP4", "gpt-oss, Quark, ModelOpt, compressed-tensors, DeepSeek-V4 experts", "transformers, ModelOpt, Quark", bindMXFP4},
	{"compressed-tensors packed", "1 to 8 bits, both packings, zero points, act-order", "compressed-tensors", bindPacked},
	{"INT8", "compressed-tensors and Quark, zero points", "compressed-tensors", bindInt8},
	{"MLX", "affine 1 to 8 bits, mxfp4, mxfp8, nvfp4 and its global scale; transformers' metal", "MLX, transformers", bindMLX},
	{"AWQ GEMV", "4 bits in the order of the inputs", "AutoAWQ's packer", bindAWQGEMV},
	{"AWQ GEMV_FAST", "llm-awq's layout of 4 bits", "AutoAWQ's packer", bindAWQFast},
	{"BitNet", "ternary, both classes of layers", "transformers", bindBitNet},
	{"ModelOpt INT4", "W4A16, packed along the outputs", "ModelOpt's packer", bindModelOpt4},
	{"Gemma", "2, 4, 8 bits and embeddings", "transformers", bindGemma},
	{"HQQ", "1, 2, 3, 4, 8 bits on either axis; safetensors and qmodel.pt", "hqq", bindHQQ},
	{"sparse bitmask", "compressed-tensors' bit masks, over FP8 too", "compressed-tensors 0.12", bindSparse},
	{"TorchAO", "Int8Tensor, IntxUnpackedToInt8Tensor, Float8Tensor", "torchao", bindTorchAO},
}

// A Support is a row of the table of schemes.
type Support struct {
	Name, Stores, Oracle string
}

// Schemes lists what is decoded, and what is known and refused by name.
func Schemes() (decoded []Support, refusedNames []string) {
	for _, s := range schemes {
		decoded = append(decoded, Support{s.name, s.stores, s.oracle})
	}
	for _, r := range refused {
		refusedNames = append(refusedNames, r.name)
	}
	for _, r := range refusedFormats {
		refusedNames = append(refusedNames, r.name)
	}
	slices.Sort(refusedNames)
	refusedNames = slices.Compact(refusedNames)
	return decoded, refusedNames
}
