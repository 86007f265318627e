package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// bnb8 is bitsandbytes' LLM.int8(): signed bytes with one absmax per row, which
// stands for 127. Parts: codes, SCB.
type bnb8 struct {
	own
	cols int64
}

// per127 is 1/127 as the library writes it, rounded to float32.
const per127 float32 = 0.007874015718698502

func (f *bnb8) need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		return tensor.Span{Off: lo * f.cols, Len: (hi - lo) * f.cols}
	}
	return tensor.Span{Off: 4 * lo, Len: 4 * (hi - lo)}
}

func (f *bnb8) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := range hi - lo {
		s := numbers[tensor.F32](parts[1], r)
		for i, c := range parts[0][r*f.cols:][:f.cols] {
			dst[r*f.cols+int64(i)] = float32(float32(int8(c))*s) * per127
		}
	}
}

func (f *bnb8) slices() bool { return true }

func (f *bnb8) slice(dst []float32, parts [][]byte, lo, r, col int64) {
	s := numbers[tensor.F32](parts[1], r-lo)
	for i, c := range parts[0][(r-lo)*f.cols+col:][:len(dst)] {
		dst[i] = float32(float32(int8(c))*s) * per127
	}
}
