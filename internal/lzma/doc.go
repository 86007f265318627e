// Package lzma inflates LZMA, as .lzma files hold it, and LZMA2, as .xz files do.
//
// # Order
//
// A [Decoder] takes compressed bytes and the number of bytes to inflate. Each iteration
// of its loop yields at least one byte or ends with an error. Inflated bytes stay in its
// window, the dictionary, until the next call.
//
// # Limits
//
//	MaxTotalBytes  the part of the dictionary that is filled: a file that asks for 4 GiB
//	               and inflates to a kilobyte costs 64 KiB
//
// The caller counts the inflated bytes.
//
// # Strictness
//
// A distance exceeds neither the size of the dictionary that the header states nor the
// number of bytes since the dictionary was last reset. The range coder must end with the
// code zero where its bytes end.
//
// Format: LZMA SDK 23.01, "LZMA specification"; the .xz file format 1.2.1.
package lzma
