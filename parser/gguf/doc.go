// Package gguf reads and writes GGUF, the format of llama.cpp: versions 1, 2 and 3
// in both byte orders, every kind of metadata value, every element type of ggml
// 0.25, and models split over several files.
//
// A tensor whose type ggml has removed, or that only a fork knows, is listed with
// tensor.Unknown and the name of the type; it is refused when it is read. Tensors have
// the byte order of the file; tensor.Info states it, and nothing is swapped. A file that
// another reader refuses, aborts on or reads differently has a finding; the constants of
// this package name the readers concerned. An [Array] of any length costs Decode only the
// time to walk past it: it is a range of the file, and its iterators read on demand.
//
// # Limits
//
//	MaxItems         one per key, tensor, string in an array and array in an array
//	MaxTotalBytes    72 bytes per key, 168 to 184 per tensor, texts, a window of 64 KiB
//	MaxSingleAlloc   one text; arrays of numbers are never in memory as a whole
//	MaxDepth         one per level of arrays
//	MaxExpandRatio   4 bytes per element of a block type, the bytes of any other
//	MaxSteps         one per key, tensor, string and array
//
// # Quirks
//
//	gguf.gaps  bytes between tensors may belong to no tensor
//	gguf.nul   elements of string arrays may hold NUL
//
// # Not supported
//
// Version 0 and versions after 3, files of GGML, GGMF and GGJT (named), a magic
// in swapped order, tensors of more than 4 dimensions.
package gguf

// The rest of this page is for those who change the reader.
//
// Specification: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Where it
// leaves a question open, ggml's own reader (gguf.cpp, 0.25) decides.
//
// # Rules
//
//   - Key and tensor names are unique. Keys are 1 to 65,535 bytes, names up to
//     65,535; both are UTF-8 without NUL, and so is every text value.
//   - general.alignment, if there, is a u32 and a power of two.
//   - A tensor has at most 4 dimensions. The product of those that are not zero fits
//     63 bits, and so does the size. Rows are whole blocks.
//   - The offsets tile the data section: each tensor begins where the one before
//     it ends, padded to the alignment, and the file ends where the last one
//     does, with or without its padding. Every way of opening a file checks this;
//     a truncated file is never listed as whole.
//   - Booleans are 0 or 1. Padding is zero. Elements of arrays follow the rules of
//     single values. These are checked when an array is read; [File.Verify] checks
//     all of them.
//
// A tensor of a type that only a fork knows ends where the next tensor begins.
//
// # Arrays
//
// Arrays of strings are walked by the lengths of their elements, which are charged once.
//
// # Order
//
// [Decode] goes through these stages: magic and version, counts, keys (one per
// step), alignment, tensors (one window of the file per step), offsets, findings. The file
// has at least 10 bytes for a key, 20 for a tensor, 4 for a string in an array and 8 for
// an array in an array, so its size bounds the number of steps. Arrays nest at most
// MaxDepth deep. Each loop over elements advances the cursor by a length that was
// compared with the remaining bytes. The later stages walk lists that earlier ones built.
//
// # Limits
//
//	MaxItems         one per key, tensor, string in an array and array in an array
//	MaxTotalBytes    72 bytes per key and 168 to 184 per tensor, 4 to 8 more of each
//	                 for the check for duplicates, the text of keys and values, a copy
//	                 of the table of tensors, a window of 64 KiB
//	MaxSingleAlloc   one text; arrays of numbers are never in memory as a whole
//	MaxDepth         one per level of arrays
//	MaxExpandRatio   4 bytes per element of a block type, the bytes of any other
//	MaxSteps         one per key, tensor, string and array
//
// Verify holds 11 to 22 bytes for each token of the vocabulary until it ends.
