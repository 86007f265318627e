// Package quant turns what quantized models store into numbers.
//
// A [Codec] decodes the blocks of one stored type; the table of codecs has one
// row per type, and each function stands in a file of the type's name. Decoding
// is the reference library's float32 arithmetic, and a [Target] rounds the
// result once. Products that meet a sum are converted to float32 first, so that
// no processor fuses them and every machine gives the same bits.
//
// Codecs trust their caller: lengths are checked where spans are bound to
// weights, before anything is read.
//
// The goldens in testdata/quant are written by gguf-py, ml_dtypes and ggml's C;
// the scripts and versions stand beside them.
package quant
