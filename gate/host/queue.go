package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A queue gives the slots for judgements to tenants by deficit round robin. The price of
// a judgement is known only while it runs, so a turn is paid in advance and settled at
// its end: a tenant whose turn cost several times [quantum] waits that many rounds.
//
// A judgement that has used up its turn gives its slot to another tenant that waits, and
// goes on when the round comes back to its own. So one tenant never holds all slots
// while others wait, and the wait for a slot is bounded by turns, not by judgements.
type queue struct {
	slots  int
	most   int  // files that wait, of all tenants
	share  int  // files that wait, of one tenant
	yields bool // judgements give their slot back after a turn
	after  time.Duration

	mu      sync.Mutex
	ring    []*lane     // tenants with something that waits, in the order of the round
	holder  *lane       // the tenant that holds all slots, or nil
	began   time.Time   // of the latest turn
	late    *time.Timer // checks whether the only slot is held for too long; nil if no tenant waits for it
	running int
	waiting int // files that have not begun and count in most
	closed  bool
}

const (
	// quantum is the price of a turn, in steps: 2 to 10 ms of work.
	quantum = 1 << 18
	// turnTime ends a turn whose steps are slow. Such a turn costs a whole quantum.
	turnTime = 5 * time.Millisecond
	// lateTurn is how long the only slot may be held by another process that asks for no
	// turn, while others wait.
	lateTurn = time.Second
	// stepBytes is how many bytes of a file are read for the price of a step.
	stepBytes = 32
	// stepTime is the price of a step that another process takes.
	stepTime = 20 * time.Nanosecond
)

// A lane is a tenant's part of the queue.
type lane struct {
	credit  int64 // steps that the tenant may use in this round; negative if it has a deficit
	price   int64 // what its turns cost lately: paid in advance
	visited bool  // it is at the front of the ring and has its credit for this round
	running int
	waiting []*turn // paused judgements before new ones
	files   int     // how many of waiting count towards the share of a tenant
}

// A turn is one judgement's place in the queue: it waits, runs, or is paused.
type turn struct {
	q       *queue
	l       *lane
	ctx     context.Context // ends the wait
	counts  bool            // it counts towards the limits of the queue
	granted chan struct{}   // receives one value when it may go on
	refused bool            // the queue closed before it began
	paused  bool            // it waits, and has begun

	mu      sync.Mutex // held while paused: a judgement may pay from several goroutines
	prepaid int64      // steps that were paid when this turn began
	spent   int64      // steps of this turn
	since   time.Time  // when this turn began
	out     bool       // it holds no slot: it is over, or its context ended while it was paused
	clock   clock
	asks    atomic.Bool // another process pays for its steps, see [Turn]
}

// enter waits for a slot. counts says that the file counts in the limits of the queue,
// which refuse it if it has to wait. The error is [Busy] or the cause of the context's end.
func (q *queue) enter(ctx context.Context, l *lane, counts bool) (*turn, error) {
	t := &turn{q: q, l: l, ctx: ctx, counts: counts, granted: make(chan struct{}, 1)}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, q.busy(false, closing)
	}
	q.wait(t, false)
	q.dispatch()
	q.watch()
	if counts && len(t.granted) == 0 {
		if l.files > q.share || q.waiting > q.most {
			err := q.busy(l.files > q.share, fmt.Sprintf("%d files wait to be judged", q.waiting-1))
			if l.files > q.share {
				err.What = fmt.Sprintf("%d files of this tenant wait to be judged", l.files-1)
			}
			q.forget(t)
			q.mu.Unlock()
			return nil, err
		}
	}
	q.mu.Unlock()
	select {
	case <-t.granted:
	case <-ctx.Done():
		if q.abandon(t) {
			return nil, context.Cause(ctx)
		}
	}
	if t.refused {
		return nil, q.busy(false, closing)
	}
	return t, nil
}

// closing is the reason of [Busy] if the host is closing.
const closing = "the host is closing"

func (q *queue) busy(tenant bool, what string) *Busy { return &Busy{tenant, what, q.after} }

// wait puts a turn into its lane: a paused one first.
func (q *queue) wait(t *turn, paused bool) {
	if len(t.l.waiting) == 0 {
		q.ring = append(q.ring, t.l)
	}
	switch {
	case paused:
		t.paused = true
		t.l.waiting = slices.Insert(t.l.waiting, 0, t)
		return
	case t.counts:
		t.l.files++
		q.waiting++
	}
	t.l.waiting = append(t.l.waiting, t)
}

// forget takes a turn out of its lane, and reports whether it was there.
func (q *queue) forget(t *turn) bool {
	at := slices.Index(t.l.waiting, t)
	if at < 0 {
		return false
	}
	t.l.waiting = slices.Delete(t.l.waiting, at, at+1)
	if t.counts && !t.paused {
		t.l.files--
		q.waiting--
	}
	t.paused = false
	if len(t.l.waiting) == 0 {
		at := slices.Index(q.ring, t.l)
		q.ring = slices.Delete(q.ring, at, at+1)
		t.l.visited, t.l.credit = false, min(t.l.credit, 0)
	}
	return true
}

// abandon takes a turn whose context ended out of its lane. It returns false if the slot
// was granted meanwhile.
func (q *queue) abandon(t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.forget(t) {
		return true
	}
	<-t.granted
	return false
}

// dispatch grants free slots to those that wait.
func (q *queue) dispatch() {
	for q.free() {
		l := q.next()
		if l == nil {
			return
		}
		t := l.waiting[0]
		q.begin(t)
		q.forget(t)
		t.granted <- struct{}{}
	}
}

// begin pays a turn in advance.
func (q *queue) begin(t *turn) {
	t.prepaid, t.spent, t.since = max(t.l.price, 1), 0, time.Now()
	q.began = t.since
	t.l.credit -= t.prepaid
	t.l.running++
	if q.running++; t.l.running == q.slots {
		q.holder = t.l
	}
}

// settle ends a turn: the tenant owes the cost beyond what it paid, but only if other tenants were
// waiting.
func (q *queue) settle(t *turn) {
	cost := t.spent
	if time.Since(t.since) >= turnTime {
		cost = max(cost, quantum)
	}
	l := t.l
	l.price = min((3*l.price+cost)/4, quantum)
	l.credit = min(l.credit+t.prepaid-cost, quantum)
	if !q.othersWait(l) {
		l.credit = 0
	}
	if l.running == q.slots {
		q.holder = nil
	}
	l.running--
	q.running--
}

// othersWait reports whether another tenant waits.
func (q *queue) othersWait(l *lane) bool {
	return len(q.ring) > 1 || len(q.ring) == 1 && q.ring[0] != l
}

// free reports whether a slot is free. Judgements in other processes may not yield: while
// one tenant holds all slots with them, there is one slot more for the others. A single slot
// is always held by one tenant: there is another one if its turn does not end.
func (q *queue) free() bool {
	switch {
	case q.running < q.slots:
		return true
	case q.yields || q.running > q.slots:
		return false
	case q.slots == 1:
		return time.Since(q.began) >= lateTurn
	}
	return q.holder != nil && q.othersWait(q.holder)
}

// watch watches the only slot until no tenant waits for it. It is called with the lock held.
func (q *queue) watch() {
	if q.slots > 1 || q.yields || q.late != nil || len(q.ring) == 0 {
		return
	}
	q.late = time.AfterFunc(lateTurn, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.late = nil
		q.dispatch()
		q.watch()
	})
}

// entitled reports whether a tenant may take a free slot: the last one only if no other
// tenant waits.
func (q *queue) entitled(l *lane) bool {
	return q.slots == 1 || l.running < q.slots-1 || !q.othersWait(l)
}

// next returns the tenant whose turn it is, and moves it to the front of the ring. It returns nil if
// no tenant may take a slot.
func (q *queue) next() *lane {
	for {
		rounds := int64(-1)
		for range len(q.ring) {
			l := q.ring[0]
			if q.entitled(l) {
				if !l.visited {
					l.visited = true
					l.credit += quantum
				}
				if l.credit >= l.price {
					return l
				}
				if need := (l.price - l.credit + quantum - 1) / quantum; rounds < 0 || need < rounds {
					rounds = need
				}
			}
			l.visited = false
			copy(q.ring, q.ring[1:])
			q.ring[len(q.ring)-1] = l
		}
		if rounds < 0 {
			return nil
		}
		for _, l := range q.ring { // skips the rounds in which no tenant could pay
			if q.entitled(l) {
				l.credit += (rounds - 1) * quantum
			}
		}
	}
}

// pay pays for steps of a judgement, and gives its slot away for a while if the turn is
// over and another tenant waits.
func (t *turn) pay(steps int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += steps
	if t.out || t.spent < quantum && time.Since(t.since) < turnTime {
		return
	}
	q := t.q
	q.mu.Lock()
	q.settle(t)
	if !q.othersWait(t.l) {
		q.begin(t)
		q.mu.Unlock()
		return
	}
	t.clock.pause()
	q.wait(t, true)
	q.dispatch()
	q.watch()
	q.mu.Unlock()
	select {
	case <-t.granted:
		t.clock.resume()
	case <-t.ctx.Done():
		if t.out = q.abandon(t); !t.out {
			t.clock.resume()
		}
	}
}

// note adds to the price of the turn, which goes on.
func (t *turn) note(steps int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += steps
}

// noteTime adds the price of a judgement of a file of size bytes in another process. If that
// process does not pay for its steps, the price is the time until the returned function is called.
func (t *turn) noteTime(size int64) func() {
	began := time.Now()
	return func() {
		if !t.asks.Load() {
			t.note(size/stepBytes + int64(time.Since(began)/stepTime))
		}
	}
}

// context returns the context of a judgement in another process, with its turn.
func (t *turn) context(account *limits.Budget) context.Context {
	return context.WithValue(account.Context(), turnKey{}, &Turn{t})
}

// leave gives the slot back.
func (t *turn) leave() {
	t.clock.pause()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out {
		return
	}
	t.out = true
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	t.q.settle(t)
	t.q.dispatch()
}

// close refuses files that have not begun, and those that come later. Judgements that
// have begun go on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, l := range slices.Clone(q.ring) {
		for _, t := range slices.Clone(l.waiting) {
			if !t.paused {
				q.forget(t)
				t.refused = true
				t.granted <- struct{}{}
			}
		}
	}
}

// A clock ends an operation after it has run for a time. Pauses do not count, since the load of a
// host must not decide about a file.
type clock struct {
	mu    sync.Mutex
	left  time.Duration
	since time.Time
	timer *time.Timer // nil for no end
}

// start calls end after d.
func (c *clock) start(d time.Duration, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.since, c.timer = d, time.Now(), time.AfterFunc(d, end)
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
