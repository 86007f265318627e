package asm

import (
	"encoding/binary"
	"math"
)

func u16(p []byte) uint16 { return binary.LittleEndian.Uint16(p) }
func u32(p []byte) uint32 { return binary.LittleEndian.Uint32(p) }

// half reads a float16.
func half(p []byte) float32 { return HalfToFloat(u16(p)) }

// A Type is a type of numbers.
type Type uint8

// The types of numbers.
const (
	F32 Type = iota
	BF16
	F16
)

// Size returns the bytes of one number.
func (t Type) Size() int {
	if t == F32 {
		return 4
	}
	return 2
}

func (t Type) String() string { return [...]string{"F32", "BF16", "F16"}[t] }

// put writes numbers rounded to the type. It is the specification of rounding.
func (t Type) put(dst []byte, src []float32) {
	switch t {
	case BF16:
		for i, f := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], FloatToBfloat(f))
		}
	case F16:
		for i, f := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], FloatToHalf(f))
		}
	default:
		for i, f := range src {
			b := math.Float32bits(f)
			if f != f {
				b = 0x7FC00000
			}
			binary.LittleEndian.PutUint32(dst[4*i:], b)
		}
	}
}

// get reads numbers of the type.
func (t Type) get(dst []float32, src []byte) {
	for i := range dst {
		switch t {
		case BF16:
			dst[i] = BfloatToFloat(u16(src[2*i:]))
		case F16:
			dst[i] = half(src[2*i:])
		default:
			dst[i] = math.Float32frombits(u32(src[4*i:]))
		}
	}
}
