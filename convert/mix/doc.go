// Package mix chooses the type of each tensor of a GGUF file that is quantized, as
// llama.cpp's llama-quantize does: by the mix that is asked for, the tensor's name,
// its place among the layers and a few numbers of the model.
//
// The rules are llama.cpp's (src/llama-quant.cpp of 0c1e57098). They are tables here:
// rules.go has a list for each role of a tensor, of which the first that applies
// decides. crosscheck/mixes.py compares the choices with llama-quantize --dry-run.
//
// # Order
//
// Some rules count tensors of a role as they are visited: those outside of layers
// first, by name, then layer by layer, by name. [Choose] sorts them so.
package mix
