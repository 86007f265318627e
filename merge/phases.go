package merge

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A phaseRunner computes, phase after phase, what must be known of whole tensors before their
// elements can be computed. All readers of the result take part until the phases are done, so
// that none waits while another goes through a tensor alone.
//
// A phase goes through the tensors span by span. The bounds of the spans depend only on the
// number of elements, so sums over a span, and then over the spans, are the same for any
// number of workers.
type phaseRunner struct {
	phases []phase // the remaining phases; the first is running
	pieces int64   // pieces of each span; the last may have fewer
	spans  int

	mu    sync.Mutex
	turn  sync.Cond // signals the end of a phase, or an error
	next  int       // the next span
	under int       // running spans
	err   error
}

// A phase is one pass over the tensors.
type phase struct {
	span func(r *buffers, k int, from, to int64) error // processes span k; called concurrently
	end  func(r *buffers) error                        // once all spans are done; may be nil
}

// maxSpans bounds the number of spans of one tensor.
const maxSpans = 256

func newPhaseRunner(elements int64) *phaseRunner {
	pieces := max(1, (elements+model.PieceElements-1)/model.PieceElements)
	each := (pieces + maxSpans - 1) / maxSpans
	c := &phaseRunner{pieces: each, spans: int((pieces + each - 1) / each)}
	c.turn.L = &c.mu
	return c
}

// bounds returns the elements of span k.
func (c *phaseRunner) bounds(k int, elements int64) (from, to int64) {
	size := c.pieces * model.PieceElements
	return int64(k) * size, min(elements, int64(k+1)*size)
}

// join processes spans until all phases are done.
func (c *phaseRunner) join(r *buffers, elements int64) error {
	for {
		p, k, err := c.take()
		if p == nil {
			return err
		}
		c.do(p, k, r, elements)
	}
}

// take returns the next span; its phase is nil if none is left.
func (c *phaseRunner) take() (p *phase, k int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && len(c.phases) > 0 {
		if k = c.next; k < c.spans {
			c.next++
			c.under++
			return &c.phases[0], k, nil
		}
		c.turn.Wait()
	}
	return nil, 0, c.err
}

// errLeft is the error for the other workers if one panics.
var errLeft = wire.ErrInternal.Errorf("a worker left a tensor unread")

func (c *phaseRunner) do(p *phase, k int, r *buffers, elements int64) {
	err := errLeft
	defer func() { c.leave(r, err) }()
	from, to := c.bounds(k, elements)
	err = p.span(r, k, from, to)
}

// leave ends a span, and after the last one its phase.
func (c *phaseRunner) leave(r *buffers, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under--
	if c.err == nil {
		c.err = err
	}
	over := c.err == nil && c.under == 0 && c.next == c.spans
	if over && c.phases[0].end != nil {
		c.err = errLeft
		defer c.turn.Broadcast()
		c.err = c.phases[0].end(r)
	}
	if over {
		c.phases, c.next = c.phases[1:], 0
	}
	if over || c.err != nil {
		c.turn.Broadcast()
	}
}

// histograms lends histograms over 16 bits of magnitudes to the workers of a phase.
type histograms struct {
	b *limits.Budget

	mu   sync.Mutex
	free [][]int64
	used [][]int64 // with counts in them
}

const halfBits = 16

// count lends a histogram to f, for one span.
func (t *histograms) count(f func(bins []int64) error) error {
	bins, err := t.take()
	if err != nil {
		return err
	}
	err = f(bins)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = append(t.used, bins)
	return err
}

func (t *histograms) take() ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range []*[][]int64{&t.used, &t.free} {
		if n := len(*list); n > 0 {
			bins := (*list)[n-1]
			*list = (*list)[:n-1]
			return bins, nil
		}
	}
	return limits.Make[int64](t.b, 1<<halfBits)
}

// sum returns the sum of all histograms; it is valid until clear.
func (t *histograms) sum() []int64 {
	all := t.used[0]
	for _, bins := range t.used[1:] {
		for k, n := range bins {
			all[k] += n
		}
	}
	return all
}

func (t *histograms) clear() {
	for _, bins := range t.used {
		clear(bins)
	}
	t.free = append(t.free, t.used...)
	t.used = nil
}
