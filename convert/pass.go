package convert

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
)

// passRange is about how many numbers a worker reads between two waits for the others.
const passRange = 128 << 10

// passes read weights before they are encoded.
type passes struct {
	threads  int
	b        *limits.Budget
	straight *model.Straight // the model for reading weights
	zeroes   bool            // treat numbers that are not finite as zero
}

// A passWorker reads ranges of a weight's rows.
type passWorker struct {
	rows    *quant.Rows
	bytes   []byte
	numbers []float32
	list    []float32 // what look found in the range
	lo, hi  int64
	zeroes  bool
	err     error
}

// pass reads a weight before it is encoded, in ranges of units of rows. look examines
// each range, concurrently, and stores found numbers in its list; add gets these lists in
// the order of the ranges.
func (e *passes) pass(w *quant.Weight, unit int64, found func(n int64) int64, look func(list, numbers []float32, lo int64) error, add func(list []float32)) error {
	b := e.b.Probe() // what reading needs is given back
	defer b.Close()
	rows := max(1, passRange/(unit*w.Cols())) * unit // rows in a range
	workers := e.workers(w, (w.Rows()+rows-1)/rows)
	list := make([]*passWorker, 0, 64)
	for range workers {
		one, err := newPassWorker(b, e, w, rows, int(found(rows*w.Cols())))
		if err != nil {
			if len(list) > 0 {
				break
			}
			return err
		}
		defer one.rows.Close()
		list = append(list, one)
	}
	for lo := int64(0); lo < w.Rows(); {
		if err := b.Err(); err != nil {
			return err
		}
		var wg sync.WaitGroup
		for _, one := range list {
			hi := min(lo+rows, w.Rows())
			one.lo, one.hi = lo, hi
			wg.Go(func() { one.err = one.run(w, look) })
			lo = hi
		}
		wg.Wait()
		for _, one := range list {
			if one.err != nil {
				return one.err
			}
			add(one.list[:found((one.hi-one.lo)*w.Cols())])
		}
	}
	return nil
}

func newPassWorker(b *limits.Budget, e *passes, w *quant.Weight, rows int64, found int) (*passWorker, error) {
	r, err := quant.NewRows(b, e.straight, w, quant.F32, rows)
	if err != nil {
		return nil, err
	}
	one := &passWorker{rows: r, zeroes: e.zeroes}
	if one.bytes, err = limits.Make[byte](b, int(r.Most())); err != nil {
		return nil, err
	}
	if one.numbers, err = limits.Make[float32](b, int(r.Most()/4)); err != nil {
		return nil, err
	}
	one.list, err = limits.Make[float32](b, found)
	return one, err
}

// run looks at the range. Where rows come in smaller pieces than asked for, a block
// may lie in two of them, so all are put together first.
func (m *passWorker) run(w *quant.Weight, look func(list, numbers []float32, lo int64) error) (err error) {
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
	if m.zeroes {
		zero(m.numbers[:n])
	}
	return look(m.list, m.numbers[:n], m.lo*w.Cols())
}
