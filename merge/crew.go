package merge

import (
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/derive"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A crew finds, phase after phase, what has to be known of whole tensors before their
// elements are computed. Whoever reads the result takes part until all phases are done,
// so no worker waits for another one to go through a tensor alone.
//
// A phase goes through the tensors span by span. The bounds of the spans depend on the
// number of elements alone, so what is summed in a span, and then over the spans, is
// the same for any number of workers.
type crew struct {
	phases []phase // that are left: the first is under way
	pieces int64   // of each span, the last may have fewer
	spans  int

	mu    sync.Mutex
	turn  sync.Cond // a phase is over, or there is an error
	next  int       // the span that is taken next
	under int       // spans that are being done
	err   error
}

// A phase is one way through the tensors.
type phase struct {
	span func(r *room, k int, from, to int64) error // span k, several at a time
	end  func(r *room) error                        // once all spans are done; may be nil
}

// maxSpans bounds what is kept of the spans of one tensor.
const maxSpans = 256

func newCrew(elements int64) *crew {
	pieces := max(1, (elements+derive.PieceElements-1)/derive.PieceElements)
	each := (pieces + maxSpans - 1) / maxSpans
	c := &crew{pieces: each, spans: int((pieces + each - 1) / each)}
	c.turn.L = &c.mu
	return c
}

// bounds are the elements of a span.
func (c *crew) bounds(k int, elements int64) (from, to int64) {
	size := c.pieces * derive.PieceElements
	return int64(k) * size, min(elements, int64(k+1)*size)
}

// join works until all phases are done.
func (c *crew) join(r *room, elements int64) error {
	for {
		p, k, err := c.take()
		if p == nil {
			return err
		}
		c.do(p, k, r, elements)
	}
}

// take gives a span that is to be done, nil if none is left.
func (c *crew) take() (p *phase, k int, err error) {
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

// errLeft is what others are told if one panics.
var errLeft = wire.ErrInternal.Errorf("a worker left a tensor unread")

func (c *crew) do(p *phase, k int, r *room, elements int64) {
	err := errLeft
	defer func() { c.leave(r, err) }()
	from, to := c.bounds(k, elements)
	err = p.span(r, k, from, to)
}

// leave ends a span, and with the last one its phase.
func (c *crew) leave(r *room, err error) {
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

// A table lends counts of 16 bits of magnitudes to the workers of a phase.
type table struct {
	b *limits.Budget

	mu   sync.Mutex
	free [][]int64
	used [][]int64 // with counts in them
}

const half = 16

// count lends counts while one span is done.
func (t *table) count(f func(bins []int64) error) error {
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

func (t *table) take() ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range []*[][]int64{&t.used, &t.free} {
		if n := len(*list); n > 0 {
			bins := (*list)[n-1]
			*list = (*list)[:n-1]
			return bins, nil
		}
	}
	return limits.Make[int64](t.b, 1<<half)
}

// sum gives the counts of all workers, until they are cleared.
func (t *table) sum() []int64 {
	all := t.used[0]
	for _, bins := range t.used[1:] {
		for k, n := range bins {
			all[k] += n
		}
	}
	return all
}

func (t *table) clear() {
	for _, bins := range t.used {
		clear(bins)
	}
	t.free = append(t.free, t.used...)
	t.used = nil
}
