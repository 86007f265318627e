package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
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

// keepsNaN reports whether a weight is left alone because of numbers that are not finite,
// and notes it.
func (p *Plan) keepsNaN(w *quant.Weight) (bool, error) {
	if p.o.NaN != KeepNaN {
		return false, nil
	}
	holds, err := (&encode.Passes{Threads: p.o.Threads, Budget: p.b, Straight: p.straight}).HoldsNaN(w)
	if err != nil || !holds {
		return false, err
	}
	q := p.encoder.Result()
	q.Kept, err = limits.Append(p.b, q.Kept, encode.KeptMatrix{Name: w.Name, Why: "NaN or infinity"})
	return true, err
}
