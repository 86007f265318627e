// Package family converts between the models of transformers and those of llama.cpp: the
// names of tensors and the order of their rows, the keys that a configuration becomes, and
// the vocabulary. Each architecture has a row. The reference is convert_hf_to_gguf.py of
// llama.cpp 0c1e57098; crosscheck/runs.py compares with it.
//
// # Terms
//
//	row         an architecture: its names, mappings, keys, vocabulary (row_*.go)
//	capability  what only some rows have: linear attention, a vision part, ... (row.go)
//	size        a dimension of tensors, a function of the configuration (sizes.go)
//	mapping     one tensor under its names in transformers and in llama.cpp
//	view        a tensor of llama.cpp that is a part of one of transformers
//	location    the mapping, layer and expert that a tensor belongs to
//	member      a member of config.json
//
// # Order
//
// config.json states the architecture, which selects the row. Every tensor of the source
// needs a mapping, else it is refused. Every mapping that is not optional needs a tensor,
// in the shape that the configuration gives.
//
// # Limits
//
//	items, bytes  configurations and vocabularies (internal/tokenizer); one Tensor,
//	              and its parts, for each tensor of the source
//	steps         one for each tensor
//
// # Not supported
//
// Audio parts, and quantized weights, which the caller decodes or copies as blocks.
package family
