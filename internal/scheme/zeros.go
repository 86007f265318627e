package scheme

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ZeroPoints binds a zero point for each scale, if there are any.
func (s *Set) ZeroPoints(w *Weight, f *form.Scaled, name string, types ...tensor.DType) error {
	zeros, ok := s.Find(name)
	if !ok {
		return nil
	}
	if !slices.Contains(types, zeros.DType) || zeros.Elements() != w.Parts[1].Elements() {
		return Mismatch(&w.Parts[0], zeros)
	}
	second := f.Scales
	second.Size, second.Read, second.Bulk = 1, form.Numbers[zeros.DType], form.BulkOf(zeros.DType)
	f.Seconds, f.Op = &second, asm.Shift
	w.Parts = append(w.Parts, *zeros)
	return nil
}
