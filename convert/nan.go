package convert

import (
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A NaN decides about weights to be quantized that contain numbers which are not finite,
// because codes with a scale cannot represent these.
type NaN uint8

// The decisions about such weights.
const (
	RefuseNaN NaN = iota // the conversion is refused, by the weight's name and the place
	KeepNaN              // it is not quantized; planning reads all weights once for that
	ZeroNaN              // NaN and infinities become zeros, which are counted
)

// zero replaces numbers that are not finite, and returns how many there were.
func zero(list []float32) (n int64) {
	for i, x := range list {
		if x-x != 0 {
			list[i] = 0
			n++
		}
	}
	return n
}

// holdsNaN reports whether some number of a weight is not finite.
func (e *passes) holdsNaN(w *quant.Weight) (bool, error) {
	if w.Rows() == 0 || w.Cols() == 0 {
		return false, nil
	}
	var found atomic.Bool
	err := e.pass(w, 1, func(int64) int64 { return 0 }, func(_, numbers []float32, _ int64) error {
		for _, x := range numbers {
			if x-x != 0 {
				found.Store(true)
				break
			}
		}
		return nil
	}, func([]float32) {})
	return found.Load(), err
}

// keepsNaN reports whether a weight is left alone because of numbers that are not finite,
// and notes it.
func (p *Plan) keepsNaN(w *quant.Weight) (bool, error) {
	if p.o.NaN != KeepNaN {
		return false, nil
	}
	holds, err := (&passes{threads: p.o.Threads, b: p.b, straight: p.straight}).holdsNaN(w)
	if err != nil || !holds {
		return false, err
	}
	q := p.encoder.quantized()
	q.Kept, err = limits.Append(p.b, q.Kept, KeptMatrix{Name: w.Name, Why: "NaN or infinity"})
	return true, err
}
