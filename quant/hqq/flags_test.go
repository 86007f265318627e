package hqq_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// HQQ's flags say that codes or scales are kept in another way than is read here.
func TestFlagsOfHQQAreRefusedWhereTheyAreSet(t *testing.T) {
	number := func(name string, v byte) quanttest.Stored {
		return quanttest.Stored{Name: name, DType: tensor.I32, Shape: nil, Data: []byte{v, 0, 0, 0}}
	}
	weight := []quanttest.Stored{quanttest.Zeros("m.W_q", tensor.U8, 24, 32), number("m.nbits", 4), number("m.axis", 1), quanttest.Zeros("m.scale", tensor.F16, 48, 1), quanttest.Zeros("m.zero", tensor.F16, 48, 1),
		{Name: "m.shape", DType: tensor.I64, Shape: []int64{2}, Data: append([]byte{7: 0, 0: 24}, []byte{7: 0, 0: 64}...)}}
	for _, name := range []string{"m.quant_scale", "m.quant_zero", "m.view_as_float"} {
		for v, class := range map[byte]wire.Class{0: wire.OK, 1: wire.Unsupported} {
			m := quanttest.Model("", append(weight[:len(weight):len(weight)], quanttest.Stored{Name: name, DType: tensor.U8, Shape: nil, Data: []byte{v}})...)
			if _, _, err := quanttest.Plan(t, m, quant.Options{}); wire.ClassOf(err) != class {
				t.Errorf("%s %d: class %v, want %v: %v", name, v, wire.ClassOf(err), class, err)
			}
		}
	}
}
