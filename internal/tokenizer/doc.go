// Package tokenizer reads vocabularies that a stranger wrote: tokenizer.json of
// the tokenizers library, and sentencepiece's models; and encodes a text with the
// first kind, which is how llama.cpp's converter recognizes a pre-tokenizer.
//
// # Order
//
// tokenizer.json is read once, member by member. What Encode does is the order of
// the library: added tokens are cut out, the rest is normalized, cut by the
// pre-tokenizers, and merged; the post-processor adds its tokens. A sentencepiece
// model is one pass over its fields.
//
// # Limits
//
//	items  one for each token, merge and added token
//	bytes  texts, tables and the sets that find a text's number
//	steps  one for each instruction of an expression at a character, and for each
//	       pair that is looked at when a piece is merged
//
// Expressions run without backtracking, and are at most 4 KiB.
//
// # Not supported
//
// Models other than BPE and WordPiece when a text is encoded. Steps of other kinds than
// those of the tables normalizers, cutters and posts are refused by their names.
//
// # Characters
//
// What is a letter, what an accent stands on and what lower case is depends on the
// version of Unicode. unicode_table.go and bert_table.go hold what the library answers,
// asked of each character; Go's tables are not used.
package tokenizer
