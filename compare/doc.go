// Package compare finds how two models differ: in names, shapes, types and bits.
//
// The models may be of any two formats. Tensors are matched by name and read side
// by side in pieces, in row-major order and little-endian, however each file
// stores them. With [Options.Values] a number counts and not its type: quantized
// weights are decoded, and a BF16 equals the F32 of the same value.
//
// By default bits are compared. When values are compared, or a tolerance is given, NaN
// equals any NaN and nothing else, an infinity equals only itself, and both zeros are
// equal.
//
// # Order
//
// [Models] lists both sides, sorts the second by name, and goes through the first
// in file order: present, shape, type, elements. Then it lists the tensors that only
// the second has, in file order. Every step takes one tensor or one piece of one.
//
// # Limits
//
//	pieces          two of 32,768 elements, and what decoding one weight needs
//	strided tensor  its storage is held in memory while it is read
//	lists           the descriptions of both sides' tensors
//
// All of this is charged to the account.
//
// # Not supported
//
// Metadata is not compared. Complex numbers, and types that cannot be decoded, are
// compared bit by bit only.
package compare
