// Package family knows models of transformers as llama.cpp does: which name a
// tensor has there and in which order its rows stand, which keys a configuration
// becomes, and which vocabulary. One row for each architecture; the reference is
// convert_hf_to_gguf.py of llama.cpp 0c1e57098, which crosscheck/runs.py runs
// beside it.
//
// # Order
//
// config.json says the architecture, its row says everything else. Every tensor of
// the source is named by the row or refused; every one that the row wants is there,
// in the shape that the configuration gives it.
//
// # Limits
//
//	items, bytes  configurations and vocabularies (internal/tokenizer); one Tensor,
//	              and its parts, for each tensor of the source
//	steps         one for each tensor
//
// # Not supported
//
// Models of several parts (vision, audio), and weights that are quantized.
package family
