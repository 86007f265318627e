// Package mix chooses the type of each tensor when a GGUF file is quantized, as
// llama.cpp's llama-quantize does. The choice depends on the mix, the name of the tensor,
// its layer and a few numbers of the model.
//
// The rules are those of llama.cpp (src/llama-quant.cpp at 0c1e57098), written as
// tables: rules.go has a list for each role of a tensor, and the first rule that applies
// decides. crosscheck/mixes.py compares the choices with llama-quantize --dry-run.
//
// # Order
//
// Some rules count the tensors of a role in the order of the visit: first those outside
// of layers, by name, then layer by layer, by name. [Choose] sorts them so.
package mix
