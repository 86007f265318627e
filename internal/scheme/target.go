package scheme

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/asm"
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
	kind  asm.Type
}{
	BF16: {tensor.BF16, asm.BF16},
	F16:  {tensor.F16, asm.F16},
	F32:  {tensor.F32, asm.F32},
}

// DType is the stored type of the target.
func (t Target) DType() tensor.DType { return targets[t].dtype }

// Size is the bytes of one number.
func (t Target) Size() int { return targets[t].kind.Size() }

// Kind is the kernels' name of the target; its type is internal to this module.
func (t Target) Kind() asm.Type { return targets[t].kind }

func (t Target) String() string { return targets[t].dtype.String() }

// ParseTarget reads the name of a target: bf16, f16, f32.
func ParseTarget(s string) (Target, error) {
	for t, name := range [...]string{"bf16", "f16", "f32"} {
		if s == name {
			return Target(t), nil
		}
	}
	return 0, fmt.Errorf("target %q is not one of bf16, f16, f32", s)
}

// Put writes src in the target's type, little-endian. Every NaN is written as the same
// quiet NaN, so that every machine writes the same bits.
func (t Target) Put(dst []byte, src []float32) {
	asm.Best().Put(targets[t].kind, dst[:len(src)*t.Size()], src)
}
