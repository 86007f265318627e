// Package encode is what a target of quantization is made of.
//
// A [Quantizer] is the target with its options. It starts an [Encoder] for one model, which
// chooses weights and returns the [Encoding] of each: the tensors that it becomes, and how
// ranges of its numbers become ranges of theirs. Package convert reads, decodes, writes and
// asks nothing else. [Linear] is the part that targets share which quantize the linear modules
// of a model as transformers chooses them, [LinearWeight] that of their encodings.
//
// The targets of a scheme are in its folder of quant.
package encode
