package quant

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Target is a type that decoded numbers are written in.
type Target uint8

// The targets. Numbers are rounded once, to nearest and ties to even.
const (
	BF16 Target = iota
	F16
	F32
)

var targets = [...]struct {
	dtype tensor.DType
	size  int
	put   func(dst []byte, src []float32)
}{
	BF16: {tensor.BF16, 2, putBF16},
	F16:  {tensor.F16, 2, putF16},
	F32:  {tensor.F32, 4, putF32},
}

// DType is the stored type of the target.
func (t Target) DType() tensor.DType { return targets[t].dtype }

// Size is the bytes of one number.
func (t Target) Size() int { return targets[t].size }

func (t Target) String() string { return targets[t].dtype.String() }

// ParseTarget reads a target's name as the command line spells it.
func ParseTarget(s string) (Target, error) {
	for t, name := range [...]string{"bf16", "f16", "f32"} {
		if s == name {
			return Target(t), nil
		}
	}
	return 0, fmt.Errorf("target %q is none of bf16, f16, f32", s)
}

// Put writes src in the target's type, little-endian. A NaN of any payload is
// written as the one quiet NaN of the type, so that every machine agrees.
func (t Target) Put(dst []byte, src []float32) { targets[t].put(dst, src) }

func putBF16(dst []byte, src []float32) {
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], floatToBfloat(f))
	}
}

func putF16(dst []byte, src []float32) {
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], floatToHalf(f))
	}
}

func putF32(dst []byte, src []float32) {
	for i, f := range src {
		b := math.Float32bits(f)
		if f != f {
			b = 0x7FC00000
		}
		binary.LittleEndian.PutUint32(dst[4*i:], b)
	}
}
