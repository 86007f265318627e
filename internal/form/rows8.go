package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// Rows8 is bitsandbytes' LLM.int8(): signed bytes with one absmax per row, which is the
// value of code 127. Parts: codes, SCB.
type Rows8 struct {
	independentRows
	Cols int64
}

// Per127 is 1/127 as the library writes it, rounded to float32.
const Per127 float32 = 0.007874015718698502

func (f *Rows8) Need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		return tensor.Span{Off: lo * f.Cols, Len: (hi - lo) * f.Cols}
	}
	return tensor.Span{Off: 4 * lo, Len: 4 * (hi - lo)}
}

func (f *Rows8) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := range hi - lo {
		s := Numbers[tensor.F32](parts[1], r)
		for i, c := range parts[0][r*f.Cols:][:f.Cols] {
			dst[r*f.Cols+int64(i)] = float32(float32(int8(c))*s) * Per127
		}
	}
}

func (f *Rows8) Slices() bool { return true }

func (f *Rows8) slice(dst []float32, parts [][]byte, lo, r, col int64) {
	s := Numbers[tensor.F32](parts[1], r-lo)
	for i, c := range parts[0][(r-lo)*f.Cols+col:][:len(dst)] {
		dst[i] = float32(float32(int8(c))*s) * Per127
	}
}
