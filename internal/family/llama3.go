package family

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// llama3 returns what Llama 3.1 divides each frequency by, as Llama's apply_scaling
// computes it and as the converter rounds it: a frequency is a float32, results are
// float64 until they are stored.
func (p *planner) llama3(r rope) ([]byte, error) {
	number := func(name string, otherwise float64) float64 {
		if f, ok := r.params.Get(name).Float(); ok {
			return f
		}
		return otherwise
	}
	base := 10000.0
	if f, ok := r.theta.Float(); ok {
		base = f
	}
	dim := p.c.headDim()
	factor, low, high := number("factor", 8), number("low_freq_factor", 1), number("high_freq_factor", 4)
	old := number("original_max_position_embeddings", 8192)
	if !(factor > 0 && low > 0 && high > low && old > 0 && base > 0) || dim%2 != 0 {
		return nil, wire.ErrRange.Errorf("values that give no frequencies")
	}
	out, err := limits.Make[byte](p.b, int(2*dim))
	if err != nil {
		return nil, err
	}
	for i := range dim / 2 {
		exponent := float32(2*i) / float32(dim)
		freq := 1 / float32(math.Pow(base, float64(exponent)))
		// Tensors of one number: torch's arithmetic with Python's is float32.
		wavelen := float32(2*math.Pi) / freq
		var f float32
		switch {
		case wavelen < float32(old/high):
			f = 1
		case wavelen > float32(old/low):
			f = float32(factor)
		default:
			smooth := float32(float32(old)/wavelen-float32(low)) / float32(high-low)
			rest := float32(float32(1-smooth) / float32(factor))
			f = 1 / float32(rest+smooth)
		}
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(f))
	}
	return out, nil
}
