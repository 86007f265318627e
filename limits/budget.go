package limits

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Budget is one account: what one operation, or one host, may spend and has
// spent. Make one with [Policy.Budget] or [Budget.Child], close it when the
// operation and everything that it returned are done with.
type Budget struct {
	policy Policy
	parent *Budget
	ctx    context.Context
	cancel context.CancelFunc
	closed atomic.Bool

	total   gauge // bytes held; shared with every ancestor
	items   gauge // items held; shared with every ancestor
	single  peak  // largest one buffer
	working gauge // bytes the pickle machine holds
	steps   gauge
	depth   gauge
	started time.Time

	ratios struct {
		sync.Mutex
		source, inIn, inOut int64 // file bytes, compressed and inflated bytes
		worstIn, worstOut   int64 // the member with the highest ratio so far
		expanded            int64
	}
}

// Budget opens an account under the policy. The context's end, and the
// policy's deadline, end the operation within 1,024 steps.
func (p Policy) Budget(ctx context.Context) *Budget { return open(ctx, p, nil) }

// Child opens an account under this one, for a tenant or a request: a charge
// must fit both. Close returns to the parent all that the child holds.
func (b *Budget) Child(p Policy) *Budget { return open(b.ctx, p, b) }

func open(ctx context.Context, p Policy, parent *Budget) *Budget {
	b := &Budget{policy: p, parent: parent, started: time.Now()}
	b.total.max = p.Limit(Total)
	b.items.max = p.Limit(Items)
	b.single.max = p.Limit(SingleAlloc)
	b.working.max = p.Limit(WorkingSet)
	b.steps.max = p.Limit(StepCount)
	b.depth.max = p.Limit(Depth)
	if d := p.Limit(Time); d > 0 {
		b.ctx, b.cancel = context.WithTimeoutCause(ctx, time.Duration(d), &Error{Axis: Time, Want: d, Left: d})
	} else {
		b.ctx, b.cancel = context.WithCancel(ctx)
	}
	return b
}

// Close ends the account and returns what it holds to its ancestors. Closing
// twice is harmless.
func (b *Budget) Close() {
	if b.closed.Swap(true) {
		return
	}
	b.cancel()
	bytes, items := b.total.now.Load(), b.items.now.Load()
	for a := b.parent; a != nil; a = a.parent {
		a.total.sub(bytes)
		a.items.sub(items)
	}
}

// Policy returns the policy that the account was opened under.
func (b *Budget) Policy() *Policy { return &b.policy }

// Context carries the operation's cancellation and deadline.
func (b *Budget) Context() context.Context { return b.ctx }

// Err returns why the operation must stop: the deadline as an [*Error], the
// context's own cause, or nil.
func (b *Budget) Err() error {
	if b.ctx.Err() == nil {
		return nil
	}
	if b.closed.Load() {
		return ErrClosed
	}
	return context.Cause(b.ctx)
}

// Alloc charges one buffer of n bytes, held for the life of the account. Call
// it before the allocation.
func (b *Budget) Alloc(n int64) error {
	if uint64(n) > uint64(b.single.max) {
		return &Error{SingleAlloc, n, b.single.max}
	}
	if n > b.single.high.Load() {
		b.single.raise(n)
	}
	return b.Hold(n)
}

// Hold charges n bytes without asking the ceiling of one buffer: many small
// things at once, or a buffer that [Budget.Drop] will give back.
func (b *Budget) Hold(n int64) error {
	if !b.total.add(n) {
		return &Error{Total, n, b.total.left()}
	}
	if b.parent != nil {
		return b.holdAbove(n)
	}
	return nil
}

func (b *Budget) holdAbove(n int64) error {
	for a := b.parent; a != nil; a = a.parent {
		if !a.total.add(n) {
			left := a.total.left()
			for u := b; u != a; u = u.parent {
				u.total.undo(n)
			}
			return &Error{Total, n, left}
		}
	}
	return nil
}

// Drop gives back n bytes that Hold or Alloc charged.
func (b *Budget) Drop(n int64) {
	if b.closed.Load() {
		return // Close has returned them already
	}
	for a := b; a != nil; a = a.parent {
		a.total.sub(n)
	}
}

// Lease charges one buffer of n bytes until release is called. Calling release
// again does nothing.
func (b *Budget) Lease(n int64) (release func(), err error) {
	if err := b.Alloc(n); err != nil {
		return func() {}, err
	}
	var once sync.Once
	return func() { once.Do(func() { b.Drop(n) }) }, nil
}

// Items charges n counted things: tensors, keys, members, values.
func (b *Budget) Items(n int64) error {
	for a := b; a != nil; a = a.parent {
		if !a.items.add(n) {
			left := a.items.left()
			for u := b; u != a; u = u.parent {
				u.items.undo(n)
			}
			return &Error{Items, n, left}
		}
	}
	return nil
}

// Work charges n live bytes of the pickle machine, to MaxWorkingSet and to
// MaxTotalBytes.
func (b *Budget) Work(n int64) error {
	if !b.working.add(n) {
		return &Error{WorkingSet, n, b.working.left()}
	}
	if err := b.Hold(n); err != nil {
		b.working.undo(n)
		return err
	}
	return nil
}

// Rest gives back n bytes that Work charged.
func (b *Budget) Rest(n int64) {
	b.working.sub(n)
	b.Drop(n)
}

// Enter goes one level deeper; call Leave on the way back. The level belongs to
// the operation, so nested decoding stays in one goroutine.
func (b *Budget) Enter() error {
	if !b.depth.add(1) {
		return &Error{Depth, 1, b.depth.left()}
	}
	return nil
}

// Leave undoes one Enter.
func (b *Budget) Leave() { b.depth.sub(1) }
