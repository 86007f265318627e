package convert

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// keeps reports whether the bytes of a part are those of the tensor.
func (m *made) keeps(part *family.Part) bool {
	return part.Info.DType == m.t.DType && m.t.Add == 0 && !m.t.Decay && !m.t.Log && part.Times == nil
}

// cast converts stored numbers to the tensor's type. That type is F32, or holds the
// numbers exactly, or is what changed numbers are rounded to.
func (m *made) cast(dst, src []byte, part *family.Part, numbers []float32) error {
	c, ok := form.CodecOf(part.Info.DType)
	to, narrow := narrower[m.t.DType]
	if !ok || !(m.t.DType == tensor.F32 || narrow) {
		return wire.ErrInternal.Errorf("%v cannot be converted to %v", part.Info.DType, m.t.DType)
	}
	c.Decode(numbers, src)
	m.change(numbers, part, c)
	if narrow {
		var wide [4 * 4096]byte
		putF32(wide[:], numbers)
		asm.Best().Cast(asm.F32, to, dst, wide[:4*len(numbers)])
		return nil
	}
	putF32(dst, numbers)
	return nil
}

// change applies the converter's arithmetic, in F32, or in F16 with rounding after each
// step if the numbers are stored in F16.
func (m *made) change(numbers []float32, part *family.Part, c form.Codec) {
	rounds := func() {}
	if part.Info.DType == tensor.F16 {
		rounds = func() {
			var wide [4 * 4096]byte
			var half [2 * 4096]byte
			putF32(wide[:], numbers)
			asm.Best().Cast(asm.F32, asm.F16, half[:2*len(numbers)], wide[:4*len(numbers)])
			c.Decode(numbers, half[:2*len(numbers)])
		}
	}
	for _, t := range part.Times {
		for i := range numbers {
			numbers[i] *= t
		}
		rounds()
	}
	if m.t.Add != 0 {
		for i := range numbers {
			numbers[i] += m.t.Add
		}
		rounds()
	}
	if m.t.Log {
		for i := range numbers {
			numbers[i] = logarithm(-numbers[i])
		}
	}
	if m.t.Decay {
		for i := range numbers {
			numbers[i] = -exponential(numbers[i])
		}
		rounds()
	}
}
