package bnb

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
)

// mean returns the mean of the scales of a weight's blocks, added in order.
func (e *encoder) mean(w *scheme.Weight, q Quantizer) (float32, error) {
	sum := NewMean(q.Blocks(w.Rows() * w.Cols()))
	err := e.Pass(w, encode.UnitRows(w, int64(q.Block)), q.Blocks, func(list, numbers []float32, lo int64) error {
		return located(q.Absmax(list, numbers), lo)
	}, sum.Add)
	return sum.Value(), err
}
