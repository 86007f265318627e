package bnb

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Widens implements [encode.Widener].
func (e *encoder) Widens(name string, was tensor.DType) bool { return e.float32s.Widens(name, was) }

// isFloat32 reports whether transformers converts a weight to float32 and then quantizes
// it, like the router of longcat_flash, so that its quant_state says float32.
func (e *encoder) isFloat32(w *scheme.Weight) bool {
	d, rounds := e.Computed(w)
	if rounds {
		return e.Widens(w.Name, e.Target.DType())
	}
	return d != asm.F32 && e.Widens(w.Name, w.Parts[0].DType)
}

// NoteWidened implements [encode.Widener].
func (e *encoder) NoteWidened(name string, was tensor.DType) (err error) {
	e.Widened, err = limits.Append(e.Budget, e.Widened, encode.WidenedTensor{Name: name, From: was})
	return err
}
