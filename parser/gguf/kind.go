package gguf

import "fmt"

// A Kind is how GGUF numbers the types of metadata values.
type Kind uint32

// The kinds, with GGUF's numbers.
const (
	KindU8     Kind = 0
	KindI8     Kind = 1
	KindU16    Kind = 2
	KindI16    Kind = 3
	KindU32    Kind = 4
	KindI32    Kind = 5
	KindF32    Kind = 6
	KindBool   Kind = 7
	KindString Kind = 8
	KindArray  Kind = 9
	KindU64    Kind = 10
	KindI64    Kind = 11
	KindF64    Kind = 12

	kindCount = 13
)

// One row per kind: ggml's name, and the bytes of one value, 0 where they vary.
var kinds = [kindCount]struct {
	name string
	size uint8
}{
	KindU8: {"u8", 1}, KindI8: {"i8", 1}, KindU16: {"u16", 2}, KindI16: {"i16", 2},
	KindU32: {"u32", 4}, KindI32: {"i32", 4}, KindF32: {"f32", 4}, KindBool: {"bool", 1},
	KindString: {"str", 0}, KindArray: {"arr", 0}, KindU64: {"u64", 8}, KindI64: {"i64", 8}, KindF64: {"f64", 8},
}

// String returns ggml's name of the kind: "u32", "str", "arr".
func (k Kind) String() string {
	if k >= kindCount {
		return fmt.Sprintf("kind %d", uint32(k))
	}
	return kinds[k].name
}

// size is the bytes of one value, or 0 where they vary. The kind is known.
func (k Kind) size() uint64 { return uint64(kinds[k].size) }

// integer reports the kinds of whole numbers.
func (k Kind) integer() bool {
	switch k {
	case KindU8, KindI8, KindU16, KindI16, KindU32, KindI32, KindU64, KindI64:
		return true
	default:
		return false
	}
}
