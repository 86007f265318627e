// Package tokenizer reads vocabularies: tokenizer.json of the tokenizers library,
// sentencepiece's models, tekken.json and tiktoken's files. It encodes texts with the first,
// since llama.cpp's converter recognizes a pre-tokenizer by the tokens of a probe text.
//
// # Order
//
// tokenizer.json is read once, member by member. Encode does what the library does, in its
// order: it cuts out added tokens, normalizes the rest, cuts it by the pre-tokenizers, and
// merges; the post-processor adds its tokens. A sentencepiece model is read in one pass.
//
// # Limits
//
//	items  one for each token, merge and added token
//	bytes  texts, tables and sets of texts
//	steps  one for each instruction of an expression at a character, lookaheads by the
//	       size of their sets; one for each pair that is examined when a piece is merged
//
// Expressions run without backtracking, and are at most 4 KiB.
//
// # Not supported
//
// Encoding with models other than BPE and WordPiece. Unknown normalizers, pre-tokenizers and
// post-processors are refused by name.
//
// # Characters
//
// Categories, marks and lower case depend on the version of Unicode. unicode_table.go and
// bert_table.go hold what the library answers for each character; Go's tables are not used.
package tokenizer
