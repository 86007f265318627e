package ggml

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An Importance is an importance matrix: for each weight, how much its columns are used, as
// measured by llama-imatrix. Nil is an empty one.
type Importance struct {
	// File, Dataset and Chunks are written to keys of the output.
	File, Dataset string
	Chunks        int64

	// Columns are means of squares, none of which is negative; for a stack, those of each expert
	// in turn.
	Columns map[string][]float32
}

// of returns the importance for a weight: a number for each column of each expert, nil if
// the weight is not in the matrix.
func (m *Importance) of(w *scheme.Weight) ([]float32, error) {
	if m == nil {
		return nil, nil
	}
	list, ok := m.Columns[w.Name]
	if !ok {
		return nil, nil
	}
	stacks := int64(1)
	for _, n := range w.Shape[:max(0, len(w.Shape)-2)] {
		stacks *= n
	}
	if int64(len(list)) != stacks*w.Cols() {
		if w.Name == "token_embd.weight" { // llama.cpp ignores it too
			return nil, nil
		}
		return nil, wire.ErrMismatch.Errorf("the importance matrix has %d columns for it, not %d: it belongs to another model", len(list), stacks*w.Cols())
	}
	return list, nil
}

// has reports whether the matrix has the weight.
func (m *Importance) has(name string) bool { return m != nil && m.Columns[name] != nil }

// entries returns the keys that say where the importance came from.
func (m *Importance) entries() []encode.Entry {
	if m == nil {
		return nil
	}
	list := []encode.Entry{{Key: "quantize.imatrix.file", Value: m.File}}
	if m.Dataset != "" {
		list = append(list, encode.Entry{Key: "quantize.imatrix.dataset", Value: m.Dataset})
	}
	return append(list, encode.Entry{Key: "quantize.imatrix.entries_count", Value: uint32(len(m.Columns))}, encode.Entry{Key: "quantize.imatrix.chunks_count", Value: uint32(m.Chunks)})
}

// Len is the number of weights in it.
func (m *Importance) Len() int { return len(m.Columns) }
