// Package lzma inflates LZMA, as .lzma files hold it, and LZMA2, as .xz files do.
//
// # Order
//
// A [Decoder] is given compressed bytes and how many bytes to make of them. Each
// round of its loop makes a byte at least, or ends with an error. What it makes
// stands in its window, the dictionary, until the next call.
//
// # Limits
//
//	MaxTotalBytes  the dictionary, as far as it was filled: a file that asks for 4 GiB
//	               and inflates to a kilobyte costs 64 KiB
//
// What was inflated is for the caller to count.
//
// # Strictness
//
// Distances reach no further than the dictionary that the header states and no
// further than what was made since it was emptied. A range coder ends with zero where
// its bytes end.
//
// Format: LZMA SDK 23.01, "LZMA specification"; the .xz file format 1.2.1.
package lzma
