// Package bzip2 inflates bzip2 data: streams after each other, as every reader of .bz2
// files takes them.
//
// # Order
//
// A block is checked and decoded to runs of symbols before any of it is expanded, so that
// a block that fails costs what its bits do. Its numbers are then expanded and its bytes
// given one after the other. Each symbol consumes a bit at least, and each block a magic
// number.
//
// # Limits
//
//	memory    four bytes for each symbol of the largest block so far, which is what the
//	          block holds and not what its header allows: at most [Held]
//	MaxSteps  some for each block and for each code table that a symbol needs; one per
//	          16 symbols, and one per 8 symbols that a block has when it is expanded
//
// The caller counts the inflated bytes.
//
// # Strictness
//
// What libbz2 1.0.8 reads, except for blocks that are marked as randomized, which its
// writer has not made since 1996; a code table that gives two symbols the same code; and one
// that leaves codes unused, where a symbol needs it: decoders disagree on its order. The sum
// of each block and of each stream must match. Behind a stream there is another one, or
// nothing.
//
// Format: the sources of libbz2 1.0.8, decompress.c and huffman.c.
package bzip2
