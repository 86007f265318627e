package convert

import (
	"strings"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Comparison measures several quantization targets in one pass: each range of rows is
// read and decoded once, and encoded for every target. Only formats with a global scale
// read their weights once more, when they are planned.
type Comparison struct {
	// Plans are the plans of the targets, in the order in which they were added. They write
	// nothing.
	Plans []*Plan

	b       *limits.Budget
	groups  []*compared
	names   map[string]*compared
	readers []tensor.Model
	size    int64
	done    atomic.Int64
}

// compared is one weight with its encodings.
type compared struct {
	w     *quant.Weight
	p     *Plan // the plan that reads it
	tasks []*encodeTask
}

// NewComparison returns a comparison without targets.
func NewComparison(b *limits.Budget) *Comparison {
	return &Comparison{b: b, names: map[string]*compared{}}
}

// Add plans a target for a model; its Quantizer must measure. Targets of the same model
// share the reads. admit, if not nil, is asked whether the plan would be written: if it
// returns an error, the target is not added.
func (c *Comparison) Add(m tensor.Model, o Options, admit func(*Plan) error) error {
	p, err := newPlan(c.b, m, o) // charged for as long as the comparison
	if err != nil {
		return err
	}
	if admit != nil {
		if err := admit(p); err != nil {
			return err
		}
	}
	for _, t := range p.tasks {
		one, ok := t.(*encodeTask)
		if !ok || one.base > 0 || one.w.Rows() == 0 || one.w.Cols() == 0 {
			continue
		}
		if err := c.add(p, one); err != nil {
			return err
		}
	}
	c.Plans, err = limits.Append(c.b, c.Plans, p)
	return err
}

// add adds an encoding of a weight.
func (c *Comparison) add(p *Plan, t *encodeTask) error {
	key := strings.Join([]string{string(rune(c.reader(p.m))), t.w.Layout, t.w.Name}, "\x00")
	g := c.names[key]
	if g == nil {
		if err := c.b.Hold(int64(len(key)) + 128); err != nil {
			return err
		}
		g = &compared{w: t.w, p: p}
		c.names[key] = g
		var err error
		if c.groups, err = limits.Append(c.b, c.groups, g); err != nil {
			return err
		}
		c.size += t.w.Rows() * t.w.Cols()
	}
	var err error
	g.tasks, err = limits.Append(c.b, g.tasks, t)
	return err
}

// reader returns the number of a model.
func (c *Comparison) reader(m tensor.Model) int {
	for i, other := range c.readers {
		if other == m {
			return i
		}
	}
	c.readers = append(c.readers, m)
	return len(c.readers) - 1
}

// Progress returns how many bytes of decoded numbers were measured, and the total.
func (c *Comparison) Progress() (done, size int64) { return 4 * c.done.Load(), 4 * c.size }

// Measure reads the model. Afterwards QuantizedWeight.Lost of all plans is set.
func (c *Comparison) Measure() error {
	for _, g := range c.groups {
		if err := c.measure(g); err != nil {
			return wire.At("convert", "tensor "+wire.Quote(g.w.Name), wire.NoOffset, err)
		}
		c.done.Add(g.w.Rows() * g.w.Cols())
	}
	return nil
}

// comparedScratch is the memory in which a worker encodes.
type comparedScratch struct {
	numbers []float32
	bytes   []byte
	parts   [][]byte
}

// measure encodes one weight for every target.
func (c *Comparison) measure(g *compared) error {
	b := c.b.Probe() // what the weight needs is given back
	defer b.Close()
	unit := int64(1)
	for _, t := range g.tasks {
		unit = min(g.w.Rows(), unit/commonDivisor(unit, t.rows)*t.rows)
		memory, err := limits.Make[byte](b, int(t.e.Hold()))
		if err != nil {
			return err
		}
		t.e.Open(memory)
	}
	free := make(chan *comparedScratch, 64) // more than a pass has workers
	pass := encode.Passes{Threads: g.p.o.Threads, Budget: b, Straight: g.p.straight, Zeroes: g.p.o.NaN == ZeroNaN}
	err := pass.Pass(g.w, unit, func(int64) int64 { return 0 }, func(_, numbers []float32, lo int64) error {
		var s *comparedScratch
		select {
		case s = <-free:
		default:
			s = &comparedScratch{}
		}
		defer func() { free <- s }()
		for _, t := range g.tasks {
			if err := s.put(b, t, lo, numbers); err != nil {
				return err
			}
		}
		return nil
	}, func([]float32) {})
	if err != nil {
		return err
	}
	for _, t := range g.tasks {
		if _, err := t.e.End(); err != nil {
			return err
		}
	}
	return nil
}

// put encodes a range into reused memory. The encoder may change the numbers.
func (s *comparedScratch) put(b *limits.Budget, t *encodeTask, lo int64, numbers []float32) (err error) {
	hi, total := lo+int64(len(numbers)), int64(0)
	for i := range t.outs {
		total += t.e.Span(i, lo, hi).Len
	}
	if s.numbers, err = sized(b, s.numbers, len(numbers)); err != nil {
		return err
	}
	if s.bytes, err = sized(b, s.bytes, int(total)); err != nil {
		return err
	}
	if s.parts, err = sized(b, s.parts, len(t.outs)); err != nil {
		return err
	}
	copy(s.numbers, numbers)
	left := s.bytes
	for i := range t.outs {
		n := t.e.Span(i, lo, hi).Len
		s.parts[i], left = left[:n:n], left[n:]
	}
	return t.e.Put(s.parts[:len(t.outs)], lo, s.numbers[:len(numbers)])
}

// sized returns a list of n elements, reusing list if it is long enough.
func sized[T any](b *limits.Budget, list []T, n int) ([]T, error) {
	if n <= cap(list) {
		return list[:n], nil
	}
	return limits.Make[T](b, n)
}

func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
