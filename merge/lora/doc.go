// Package lora merges low-rank adapters into the model that they were trained on, as
// PEFT's merge_and_unload does, in bounded memory.
//
//	merged, err := lora.Merge(b, base, []lora.Adapter{{Model: adapter, Weight: 1}})
//	if err != nil {
//		return err // only headers and adapter_config.json have been read
//	}
//	plan, err := convert.NewPlan(b, merged, convert.Options{AsIs: true, Sink: merged.Sink()})
//
// [Merge] returns a [tensor.Model]: the base, with adapted tensors that are computed
// when they are read.
//
// # Arithmetic
//
// Everything is float32 and every operation is rounded. For one adapter after the other:
//
//	D = sum of B[o,r]*A[r,i] over r, in that order, each product rounded
//	W = round(W + D*s)                 a linear layer, a convolution
//	W = round(W + round(D*s))          an embedding, a separately adapted parameter
//	W = round(m/|W0 + D*s| * (W + D*s))  DoRA: m the magnitudes, W0 the base's weight
//
// Here round is to the base's type, and s = weight*alpha/r, or weight*alpha/sqrt(r) with
// use_rslora, is computed in float64 and then rounded, as by PEFT's
// set_scale(adapter, weight). This is the order of PEFT 0.21 on a CPU with its default
// autocast_adapter_dtype. Libraries for linear algebra sum a matrix product in different
// orders, so D can differ in its last bits.
//
// Of a parameter that transformers stacks of the base's experts, each matrix gets the part
// of its expert, gate_proj before up_proj.
//
// A GGUF adapter is merged into a GGUF model, as llama.cpp's llama-export-lora does:
// s = weight*alpha/r in float32, or s = weight if alpha is 0, and W is rounded once,
// after all adapters.
//
// # Embeddings
//
// Rows of trainable_token_indices, and embeddings that the adapter has whole, replace the
// base's; vocab_size of config.json follows. A copy of tied ones must equal the first. What is
// trained of one of two tied modules changes both, as by PEFT; modules_to_save unties them.
//
// # What is refused
//
// Adapters of types other than LORA. Keys of adapter_config.json that are unknown, or
// that ask for something that is not computed here. Expressions of modules that Python's
// re does not read, or that have flags, references to groups or possessive repetitions:
// which modules PEFT would adapt is not known then. Tensors that are neither part of an
// adapted weight, nor a bias that the configuration trains, nor in modules_to_save, nor
// trained rows. A result that is infinite where base and adapter are finite. An
// adapted weight that is missing in the base, or has another shape there, or a type
// other than F32, F16 or BF16.
//
// # Order
//
// Tensors are bound in the order of the adapter's file, each once. Reading a range of
// the result reads the same range of the base.
//
// # Limits
//
//	MaxTotalBytes  names; the matrices A and B of at most two adapted weights, and of one
//	               more for each worker, as F32; 128 KiB for each worker
//	MaxItems       tensors of the adapters
//	MaxSteps       one for each tensor and each row of a matrix; for each module and each
//	               part of an expression one, and one for 32 characters
//	MaxDepth       parentheses of an expression
//
// # Not supported
//
// Grouped convolutions; quantized bases.
package lora
