// Package lora merges low-rank adapters into the model that they were trained on, as
// PEFT's merge_and_unload does, without holding either of them.
//
//	merged, err := lora.Merge(b, base, []lora.Adapter{{Model: adapter, Weight: 1}})
//	if err != nil {
//		return err // nothing has been read but headers and adapter_config.json
//	}
//	plan, err := convert.NewPlan(b, merged, convert.Options{AsIs: true, Sink: merged.Sink()})
//
// What [Merge] gives is a [tensor.Model]: the base, whose adapted tensors are computed
// when they are read.
//
// # What is computed
//
// In float32, each operation rounded, for adapter after adapter:
//
//	D = sum of B[o,r]*A[r,i] over r, in that order, each product rounded
//	W = round(W + D*s)                 a linear layer, a convolution
//	W = round(W + round(D*s))          an embedding, a parameter of its own
//	W = round(m/|W0 + D*s| * (W + D*s))  DoRA: m the magnitudes, W0 the base's weight
//
// where round is to the base's type and s = weight*alpha/r, or weight*alpha/sqrt(r)
// with use_rslora, in float64, then rounded: what PEFT's set_scale(adapter, weight)
// makes it. That is the order of PEFT 0.21 on a CPU with its default
// autocast_adapter_dtype. The sum of a matrix product has an order of its own in each
// library for linear algebra: two of them differ in the last bits of D.
//
// GGUF adapters go onto GGUF models, with s = weight*alpha/r in float32, weight alone
// where alpha is 0, as llama.cpp has it.
//
// # What is refused
//
// Adapters of other types than LORA; every key of adapter_config.json that is not
// known, or that asks for what is not computed here; every tensor that is no part of
// an adapted weight, no bias that the configuration trains, and of no module in
// modules_to_save; an adapted weight that the base has not, or not in that shape, or
// not in F32, F16 or BF16.
//
// # Order
//
// Tensors are bound in the order of the adapter's file, each once. What reads the
// result reads the base's tensor in the same ranges.
//
// # Limits
//
//	MaxTotalBytes  names; the matrices of at most two adapted weights at a time and one
//	               for each worker, as F32, and 128 KiB for each worker
//	MaxItems       tensors of the adapters
//	MaxSteps       one for each tensor and each row of a matrix
//
// # Not supported
//
// Adapters of layers whose checkpoint has other names than the model has modules;
// grouped convolutions; quantized bases.
package lora
