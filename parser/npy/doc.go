// Package npy reads NumPy's array files, each of which holds one array. An npy file is a file of
// its own or a member of an npz archive.
//
// It follows NEP 1 and numpy.lib.format of NumPy 2.4: versions 1.0, 2.0 and 3.0. The header is a
// Python dict literal, parsed by a grammar for only this literal. Nothing is evaluated, and no key
// is found by a text search.
//
// What is read: b1, i1 to i8, u1 to u8, f2 to f16, c8 to c32, S, U, V, M8, m8
// and structured types of those, nested, with subarrays, titles and padding;
// both byte orders; C and Fortran order. ml_dtypes stores the number types that NumPy
// has no name for as plain bytes: V2 is read as BF16 and f1 as F8_E5M2, V1 stays
// unknown; each has a finding. [File.Fields] and Meta ("NAME.fields") list the fields
// of a structured type.
//
// The array of a file has the name "arr_0", as NumPy names the first unnamed array of
// an archive.
//
// # Order
//
// The header reader goes through magic, length, dictionary and size, once each.
// The dictionary's grammar consumes at least one byte per step; nesting is
// bounded by the account.
//
// # Limits
//
//	header           1 MiB; NumPy itself refuses more than 10,000 characters
//	                 unless told otherwise, which is a finding
//	dimensions       64, NumPy's own limit
//	one element      2^31 - 1 bytes, NumPy's own limit
//	MaxItems         one per array, one per field of a structured type
//	MaxTotalBytes    the header, shape, names, and at most 512 bytes per field
//	MaxDepth         nested structured types
//	MaxExpandRatio   the array's bytes
//	MaxSteps         one per 8 bytes of header
//
// # Not supported
//
// Object types, at any depth: their data is a pickle, so the array is refused as
// forbidden before any of it is read. Types by name ("float32"), types without a size,
// the byte order '|' of a number of several bytes, subarray types outside of a field,
// and shapes with -1: NumPy reads some of these and writes none.
package npy
