// Package gguf reads and writes GGUF, the format of llama.cpp: versions 1, 2 and 3
// in both byte orders, every kind of metadata value, every element type of ggml
// 0.25, and models split over several files.
//
// A type number that ggml has removed, or that only a fork knows, is listed under its
// name with tensor.Unknown, and only reading it is refused. The byte order of the file is
// that of its tensors: tensor.Info says so, nothing is swapped. What other readers abort
// on, refuse or read otherwise is a finding; each code is a constant here and names
// the readers it is about. An [Array] of any length costs nothing at Decode but the way
// past it: it is a range of the file, with iterators that read it when asked.
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
//	gguf.gaps  bytes that belong to no tensor may stand between tensors
//	gguf.nul   elements of string arrays may hold NUL
//
// # Not supported
//
// Version 0 and versions after 3, files of GGML, GGMF and GGJT (named), a magic
// in swapped order, tensors of more than 4 dimensions.
package gguf

// The rest of this page is for who changes the reader.
//
// Spec: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and where it
// leaves a question open, what ggml's own reader (gguf.cpp, 0.25) does.
//
// # What must hold
//
//   - Key and tensor names are unique. Keys are 1 to 65,535 bytes, names up to
//     65,535; both are UTF-8 without NUL, and so is every text value.
//   - general.alignment, if there, is a u32 and a power of two.
//   - A tensor has at most 4 dimensions. Their product, zeros left out, fits 63
//     bits, and so does the size. Rows are whole blocks.
//   - The offsets tile the data section: each tensor begins where the one before
//     it ends, padded to the alignment, and the file ends where the last one
//     does, with or without its padding. This holds whatever the file is opened
//     for; a file that is cut short is never listed as whole.
//   - Truth values are 0 or 1. Padding is zero. Elements of arrays follow the
//     rules of single values. These are asked when an array is read, and of all
//     by [File.Verify].
//
// A type number that only a fork knows has a span that runs to the next offset.
//
// # Arrays
//
// Arrays of strings are walked by the lengths of their elements, and charge those once.
//
// # Order
//
// [Decode] goes through these stages: magic and version, counts, keys (one per
// step), alignment, tensors (a window of the file per step), offsets, findings. A key takes at
// least 10 bytes of the file and a tensor 20, a string in an array 4 and an array
// in an array 8, so the number of steps is bounded by the size of the file;
// arrays nest at most MaxDepth deep. Each loop over elements advances the cursor
// by a length that has been held against the bytes that are left. The later
// stages walk lists that the earlier ones built.
//
// # Limits
//
//	MaxItems         one per key, tensor, string in an array and array in an array
//	MaxTotalBytes    72 bytes per key and 168 to 184 per tensor, 4 to 8 of either for
//	                 the check of duplicates, the text of keys and values, a copy of
//	                 the rows of the tensors, a window of 64 KiB
//	MaxSingleAlloc   one text; arrays of numbers are never in memory as a whole
//	MaxDepth         one per level of arrays
//	MaxExpandRatio   4 bytes per element of a block type, the bytes of any other
//	MaxSteps         one per key, tensor, string and array
//
// Verify takes 11 to 22 bytes for each token of the vocabulary, given
// back when it ends.
