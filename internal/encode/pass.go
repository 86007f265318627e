package encode

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// passRange is about how many numbers a worker reads between two waits for the others.
const passRange = 128 << 10

// Passes read weights before they are encoded.
type Passes struct {
	Threads  int
	Budget   *limits.Budget
	Straight tensor.Model // the model for reading weights
	Zeroes   bool         // treat numbers that are not finite as zero
}

// A passWorker reads ranges of a weight's rows.
type passWorker struct {
	rows    *scheme.Rows
	bytes   []byte
	numbers []float32
	list    []float32 // what look found in the range
	lo, hi  int64
	zeroes  bool
	err     error
}

// Pass reads a weight before it is encoded, in ranges of units of rows. look examines
// each range, concurrently, and stores found numbers in its list; add gets these lists in
// the order of the ranges.
func (e *Passes) Pass(w *scheme.Weight, unit int64, found func(n int64) int64, look func(list, numbers []float32, lo int64) error, add func(list []float32)) error {
	b := e.Budget.Probe() // what reading needs is given back
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

func newPassWorker(b *limits.Budget, e *Passes, w *scheme.Weight, rows int64, found int) (*passWorker, error) {
	r, err := scheme.NewRows(b, e.Straight, w, scheme.F32, rows)
	if err != nil {
		return nil, err
	}
	one := &passWorker{rows: r, zeroes: e.Zeroes}
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
func (m *passWorker) run(w *scheme.Weight, look func(list, numbers []float32, lo int64) error) (err error) {
	defer Recovered(&err)
	n := 0
	for m.rows.Goto(m.lo); m.rows.At() < m.hi; {
		got, err := m.rows.Next(m.bytes[4*n:])
		if err != nil {
			return err
		}
		n += got / 4
	}
	GetFloats(m.numbers[:n], m.bytes)
	if m.zeroes {
		Zero(m.numbers[:n])
	}
	return look(m.list, m.numbers[:n], m.lo*w.Cols())
}

// workers returns how many workers read a weight: one if its bytes come in order, or if
// all ranges need the same bytes.
func (e *Passes) workers(w *scheme.Weight, ranges int64) int {
	n := e.Threads
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if _, direct := e.Straight.At(w.Parts[0]); !direct {
		return 1
	}
	for p := range w.Parts {
		if rows := w.Rows(); rows > 1 && w.Matrix().Need(p, 0, 1) == w.Matrix().Need(p, rows-1, rows) && w.Matrix().Need(p, 0, rows).Len > 64<<10 {
			return 1
		}
	}
	return int(min(int64(n), ranges, 64))
}

// HoldsNaN reports whether some number of a weight is not finite.
func (e *Passes) HoldsNaN(w *scheme.Weight) (bool, error) {
	if w.Rows() == 0 || w.Cols() == 0 {
		return false, nil
	}
	var found atomic.Bool
	err := e.Pass(w, 1, func(int64) int64 { return 0 }, func(_, numbers []float32, _ int64) error {
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

// Zero replaces numbers that are not finite, and returns how many there were.
func Zero(list []float32) (n int64) {
	for i, x := range list {
		if x-x != 0 {
			list[i] = 0
			n++
		}
	}
	return n
}
