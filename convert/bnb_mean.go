package convert

import (
	"encoding/binary"
	"math"
	"runtime"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// mean returns the mean of the scales of a weight's blocks, added in order.
func (e *bnbEncoder) mean(w *quant.Weight, q bnb.Quantizer) (float32, error) {
	sum := bnb.NewMean(q.Blocks(w.Rows() * w.Cols()))
	err := e.pass(w, unitRows(w, int64(q.Block)), q.Blocks, func(list, numbers []float32, lo int64) error {
		return located(q.Absmax(list, numbers), lo)
	}, sum.Add)
	return sum.Value(), err
}

// workers returns how many workers read a weight: one if its bytes come in order, or if
// all ranges need the same bytes.
func (e *passes) workers(w *quant.Weight, ranges int64) int {
	n := e.threads
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if _, direct := e.straight.At(w.Parts[0]); !direct {
		return 1
	}
	for p := range w.Parts {
		if rows := w.Rows(); rows > 1 && w.Matrix().Need(p, 0, 1) == w.Matrix().Need(p, rows-1, rows) && w.Matrix().Need(p, 0, rows).Len > 64<<10 {
			return 1
		}
	}
	return int(min(int64(n), ranges, 64))
}

// getFloats reads little-endian numbers; dst may be the memory of p.
func getFloats(dst []float32, p []byte) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		if raw := asm.Raw(dst); len(raw) > 0 && &raw[0] != &p[0] {
			copy(raw, p)
		}
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
}
