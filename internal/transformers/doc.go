// Package transformers is what the classes of Hugging Face transformers do with the names of a
// model's tensors: which are weights of linear modules, and which of those are left alone when
// a model is quantized; what is kept in float32; which types are not loaded again, and why.
//
// The tables are generated from transformers by the programs in crosscheck/linears, by
// crosscheck/targets.py and by crosscheck/contract. A [Rule] decides about the tensors of one
// model.
package transformers
