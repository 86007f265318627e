package scheme

import (
	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// MaxConfig bounds one configuration file.
const MaxConfig = config.MaxFile

// Options decide questions that tensors and configuration leave open.
type Options struct {
	Target Target
	// Scheme is the scheme to prefer if several bind a tensor.
	Scheme string
	// GPTQZeros says how GPTQ stores zero points: "v1", "v2", or "" to detect it.
	GPTQZeros string
	// Block is the rows and columns of the block of an FP8 scale, or zero to detect them.
	Block [2]int64
	// FoldPreQuant multiplies weights by ModelOpt's pre_quant_scale of their inputs.
	// Without it such a weight is an error.
	FoldPreQuant bool
	// As is [AsMLX], or "" for float32 rounded once.
	As string
	// KeepScales passes activation and cache scales through.
	KeepScales bool
	// IgnoreUnknown are unknown keys of configurations, and names or suffixes of unknown
	// tensors, that the caller knows to be harmless.
	IgnoreUnknown []string
	// Folder gives each weight the name, the shape and the orientation that the unquantized
	// model has in transformers, for writing a folder. Without it weights are as in the
	// file.
	Folder bool
}

// AsMLX computes MLX's integers in the type of their scales, BF16 or F16, as
// mx.dequantize does: the product with the scale is rounded, and so is the sum with
// the bias. A model without weights of MLX is refused.
const AsMLX = "mlx"

// ErrNotMLX refuses [AsMLX] for a model without weights of MLX.
var ErrNotMLX = wire.ErrUsage.Errorf("%s: no weight is quantized by MLX", wire.OptionAs)
