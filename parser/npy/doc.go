// Package npy reads NumPy's array files: one array each, alone in a file or as
// a member of an npz archive.
//
// It follows NEP 1 and numpy.lib.format of NumPy 2.4: versions 1.0, 2.0 and
// 3.0. The header is a Python dict literal; a grammar for just that literal
// reads it, nothing is evaluated and nothing is found by searching.
//
// What is read: b1, i1 to i8, u1 to u8, f2 to f16, c8 to c32, S, U, V, M8, m8
// and structured types of those, nested, with subarrays, titles and padding;
// both byte orders; C and Fortran order. Types of numbers that NumPy has no
// name for are stored as plain bytes by ml_dtypes: V2 is read as BF16 and f1 as
// F8_E5M2, V1 stays unknown; each is a finding. [File.Fields] lists the fields
// of a structured type, and so does Meta under "NAME.fields".
//
// NumPy names the first unnamed array of an archive "arr_0"; the one array of a
// file has that name here.
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
//	MaxSteps         one per 16 bytes of header
//
// # Not supported
//
// Object types, at any depth: their data is a pickle, which is refused as
// forbidden without reading a byte of it. Types by name ("float32"), types
// without a size, an order '|' on a number of several bytes, subarray types
// outside a field, and shapes with -1: NumPy reads some of those and writes
// none.
package npy
