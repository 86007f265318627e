package convert

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// meanRange is about how many numbers a worker goes through between two waits
// for the others.
const meanRange = 128 << 10

// mean goes through a weight for the scales of its blocks, and adds them up in
// their order.
func (e *bnbEncoder) mean(w *quant.Weight, q bnb.Quantizer) (float32, error) {
	b := e.b.Probe() // what reading it needs is given back
	defer b.Close()
	n := w.Rows() * w.Cols()
	unit := unitRows(w, int64(q.Block))
	rows := max(1, meanRange/(unit*w.Cols())) * unit // of one range
	workers := e.workers(w, (w.Rows()+rows-1)/rows)
	list := make([]*meanWorker, 0, 64)
	for range workers {
		one, err := newMeanWorker(b, e, w, rows, int(q.Blocks(rows*w.Cols())))
		if err != nil {
			if len(list) > 0 {
				break
			}
			return 0, err
		}
		defer one.rows.Close()
		list = append(list, one)
	}
	sum := bnb.NewMean(q.Blocks(n))
	for lo := int64(0); lo < w.Rows(); {
		if err := b.Err(); err != nil {
			return 0, err
		}
		var wg sync.WaitGroup
		for _, one := range list {
			hi := min(lo+rows, w.Rows())
			one.lo, one.hi = lo, hi
			wg.Go(func() { one.err = one.scales(w, q) })
			lo = hi
		}
		wg.Wait()
		for _, one := range list {
			if one.err != nil {
				return 0, one.err
			}
			sum.Add(one.list[:q.Blocks((one.hi-one.lo)*w.Cols())])
		}
	}
	return sum.Value(), nil
}

// workers is how many go through a weight: one where its bytes come in order, or
// where every range needs the same ones.
func (e *linearEncoder) workers(w *quant.Weight, ranges int64) int {
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

// A meanWorker goes through ranges of rows.
type meanWorker struct {
	rows    *quant.Rows
	bytes   []byte
	numbers []float32
	list    []float32 // scales
	lo, hi  int64
	err     error
}

func newMeanWorker(b *limits.Budget, e *bnbEncoder, w *quant.Weight, rows int64, scales int) (*meanWorker, error) {
	r, err := quant.NewRows(b, e.straight, w, quant.F32, rows)
	if err != nil {
		return nil, err
	}
	one := &meanWorker{rows: r}
	if one.bytes, err = limits.Make[byte](b, int(r.Most())); err != nil {
		return nil, err
	}
	if one.numbers, err = limits.Make[float32](b, int(r.Most()/4)); err != nil {
		return nil, err
	}
	one.list, err = limits.Make[float32](b, scales)
	return one, err
}

// scales finds those of the range. Where rows come in smaller pieces than asked
// for, a block may lie in two of them, so all are put together first.
func (m *meanWorker) scales(w *quant.Weight, q bnb.Quantizer) (err error) {
	defer recovered(&err)
	n := 0
	for m.rows.Goto(m.lo); m.rows.At() < m.hi; {
		got, err := m.rows.Next(m.bytes[4*n:])
		if err != nil {
			return err
		}
		n += got / 4
	}
	getFloats(m.numbers[:n], m.bytes)
	return located(q.Absmax(m.list, m.numbers[:n]), m.lo*w.Cols())
}

// getFloats reads little-endian numbers.
func getFloats(dst []float32, p []byte) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		copy(asm.Raw(dst), p)
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
}
