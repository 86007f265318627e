// Package stats says what numbers the tensors of a model are: how many are zero,
// NaN or infinite, the least and the greatest, mean and standard deviation, and how
// many lie between one power of two and the next.
//
//	list, err := stats.Tensors(b, m, stats.Options{})
//
// Quantized weights are decoded, and have their names in the unquantized model; with Options.Stored
// each tensor is read as it is stored. What nothing decodes, and complex numbers, have counts of no
// kind: Tensor.Numbers is false.
//
// # Order
//
// Workers take one tensor at a time and read it once, in pieces of at most 32,768
// elements in row-major order. Sums are those of float64, of each piece by itself and
// then of the pieces in order (Chan, Golub and LeVeque 1979), so that the result is
// the same for any number of workers.
//
// # Limits
//
// Pieces for each worker, what decoding one weight needs, and the list with its bins,
// charged to the account. A strided tensor's storage is held while it is read.
package stats

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Tensor has the statistics of one tensor or weight.
type Tensor struct {
	Name     string
	Type     string // as it is stored, or the scheme that decoded it
	Shape    []int64
	Elements int64
	Numbers  bool // the elements are numbers

	Zeros, NaN, Infinite int64
	// Of the finite numbers; 0 if there are none. Std is that of all of them, not
	// of a sample. Integers beyond 2^53 are rounded to float64. Mean and Std are no
	// number where float64 cannot hold a sum.
	Min, Max, Mean, Std float64
	Bins                []Bin // in ascending order, without empty ones
	// First is the index of the first that is NaN or infinite, row-major; -1 for none.
	First int64
}

// A Bin counts numbers with a magnitude in [2^Exp, 2^(Exp+1)). Zeros are not in a bin.
// Numbers that are subnormal in float32 are in the bin -127, unless the type is wider.
type Bin struct {
	Exp                int
	Negative, Positive int64
}

// Finite reports whether no number is NaN or infinite.
func (t *Tensor) Finite() bool { return t.NaN == 0 && t.Infinite == 0 }

// Options say how to read. The zero value decodes, with one worker.
type Options struct {
	Workers int
	// Stored reads tensors as they are stored, instead of decoded weights.
	Stored bool
	// Quant says how quantized weights are read.
	Quant quant.Options
	// Keep chooses by name; nil keeps all.
	Keep func(name string) bool
	// Done, if set, counts the bytes read.
	Done *atomic.Int64
}

// An item is a weight, or a tensor that belongs to none.
type item struct {
	info   tensor.Info
	weight *quant.Weight
}

type job struct {
	b      *limits.Budget
	m      tensor.Model
	o      Options
	items  []item
	list   []Tensor
	errs   []error
	next   atomic.Int64
	failed atomic.Bool
}

// placed gives an error of the account, which has no place of its own, that of this package.
func placed(err *error) { *err = wire.At("stats", "", wire.NoOffset, *err) }

// Tensors reads the tensors of a model: weights first, then other tensors, each
// in file order.
func Tensors(b *limits.Budget, m tensor.Model, o Options) (list []Tensor, err error) {
	defer placed(&err)
	j := &job{b: b, m: m, o: o}
	if err := j.find(); err != nil {
		return nil, err
	}
	if j.list, err = limits.Make[Tensor](b, len(j.items)); err != nil {
		return nil, err
	}
	if j.errs, err = limits.Make[error](b, len(j.items)); err != nil {
		return nil, err
	}
	var workers []*worker
	for range max(1, min(o.Workers, len(j.items))) {
		w, err := newWorker(j)
		if err != nil && len(workers) == 0 {
			return nil, err
		}
		if err != nil {
			break // the account allows fewer workers
		}
		workers = append(workers, w)
	}
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(w.work)
	}
	wg.Wait()
	for _, err := range j.errs { // the first in order, whichever worker met it
		if err != nil {
			return nil, err
		}
	}
	return j.list, nil
}

// find lists what to read.
func (j *job) find() error {
	add := func(i item, name string) (err error) {
		if j.o.Keep == nil || j.o.Keep(name) {
			j.items, err = limits.Append(j.b, j.items, i)
		}
		return err
	}
	if j.o.Stored {
		for i := range j.m.Tensors() {
			if err := add(item{info: i}, i.Name); err != nil {
				return err
			}
		}
		return nil
	}
	bound, err := quant.Plan(j.b, j.m, j.o.Quant)
	if err != nil {
		return err
	}
	for _, w := range bound.Weights {
		if err := add(item{weight: w}, w.Name); err != nil {
			return err
		}
	}
	for _, i := range bound.Plain {
		if err := add(item{info: i}, i.Name); err != nil {
			return err
		}
	}
	return nil
}

// A sum has the statistics of the numbers so far.
type sum struct {
	finite             int64
	min, max, mean, m2 float64 // m2 is the sum of squared distances from the mean
}

// add merges the sum of the numbers that follow.
func (s *sum) add(t *sum) {
	switch {
	case t.finite == 0:
		return
	case s.finite == 0:
		*s = *t
		return
	}
	n := s.finite + t.finite
	delta := t.mean - s.mean
	share := float64(t.finite) / float64(n)
	s.mean += float64(delta * share)
	between := float64(float64(delta*delta) * share)
	s.m2 += t.m2 + float64(between*float64(s.finite))
	s.min, s.max, s.finite = min(s.min, t.min), max(s.max, t.max), n
}

// finish stores the sum in t.
func (s *sum) finish(t *Tensor) {
	if s.finite > 0 {
		t.Min, t.Max, t.Mean, t.Std = s.min, s.max, s.mean, math.Sqrt(s.m2/float64(s.finite))
	}
}

func located(m tensor.Model, name string, err error) error {
	return wire.At(m.Format(), "tensor "+wire.Quote(name), wire.NoOffset, err)
}
