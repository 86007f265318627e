package limits

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Budget is the account of one operation, or of one host. Make one with [Policy.Budget]
// or [Budget.Child]. Close it when the operation and everything that it returned are no
// longer in use.
//
// Bytes and items of a child are charged to its parent too. Steps, depth, ratios and the
// deadline belong to one operation and are checked only in the child. Close returns
// everything that the child holds, so that the account of a host is not used up. Closing
// the account of a host ends its children.
//
// A Budget may be used by many goroutines at once. A [Steps] and a [Workspace] belong to
// one loop.
type Budget struct {
	shared   [5]gauge // by pool: this account's and its ancestors'
	parent   *Budget
	single   int64        // the ceiling of one buffer
	largest  atomic.Int64 // the largest buffer so far
	dropped  atomic.Int64 // bytes given back so far
	worked   atomic.Int64 // steps of the closed accounts below
	inflated atomic.Int64 // bytes inflated by this account and the closed ones below

	working gauge // bytes held by the pickle machine
	steps   gauge
	depth   gauge
	ratios  ratios

	policy   Policy
	invalid  error           // error about the policy
	ctx      context.Context // ends with the operation, or its deadline
	life     context.Context // ends when the account closes; parent of the children's contexts
	end      context.CancelCauseFunc
	stop     context.CancelFunc
	started  time.Time
	children atomic.Int64
	closed   atomic.Bool
	probe    bool    // counts as a part of the parent's operation
	whole    *Budget // the operation that this is a part of, see [Budget.Whole]
	outer    int64   // for the account of a whole: the size of its file
	meter    func(steps int64)
}

// A pool is one of the sums that an account shares with its ancestors.
type pool uint8

const (
	pooledBytes    pool = iota // bytes
	pooledItems                // items
	pooledFiles                // files
	pooledRequests             // requests
	pooledFetched              // bytes of answers
)

var poolAxis = [...]Axis{pooledBytes: Total, pooledItems: Items, pooledFiles: OpenFiles, pooledRequests: Requests, pooledFetched: Fetched}

// Budget opens an account under the policy. When the context ends or the deadline passes,
// the operation ends within 1,024 steps. The account of an invalid policy refuses
// everything with [ErrPolicy].
func (p Policy) Budget(ctx context.Context) *Budget { return open(ctx, p, nil) }

// Child opens an account under this one, for a tenant or a request. A charge must fit both.
// Close returns everything that the child holds to the parent. When the parent ends, the
// child ends too. Deadline, steps, depth and ratios are the child's own, because they
// belong to one operation.
func (b *Budget) Child(p Policy) *Budget {
	b.children.Add(1)
	ctx := b.life
	if b.whole == b {
		ctx = b.ctx // a part has no more time than the whole
	}
	c := open(ctx, p, b)
	c.meter = b.meter
	if b.whole != nil {
		c.join(b.whole)
	}
	return c
}

// ChildContext is [Budget.Child] for an operation with a context of its own, such
// as a request's: it ends with that context, too.
func (b *Budget) ChildContext(ctx context.Context, p Policy) *Budget {
	c := b.Child(p)
	unhook := context.AfterFunc(ctx, func() { c.end(endError(ctx, c.started)) })
	stop := c.stop
	c.stop = func() { unhook(); stop() }
	return c
}

// ended returns why a context ended. Its deadline is a limit of the operation.
func endError(ctx context.Context, since time.Time) error {
	cause := context.Cause(ctx)
	if _, ours := errors.AsType[*Error](cause); ours || !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	end, _ := ctx.Deadline()
	d := int64(end.Sub(since))
	return &Error{Time, d, d}
}

// Probe opens an account under the same policy for a part of the operation that may fail
// without ending it. After it is closed, [Budget.Usage] of the operation includes its
// steps, depth and working set.
func (b *Budget) Probe() *Budget {
	p := b.Child(b.policy)
	p.probe = true
	return p
}

func open(ctx context.Context, p Policy, parent *Budget) *Budget {
	b := &Budget{policy: p, parent: parent, invalid: p.Validate(), started: time.Now()}
	b.life, b.end = context.WithCancelCause(ctx)
	b.ctx, b.stop = b.life, func() {}
	if b.invalid != nil {
		b.end(b.invalid) // the gauges stay empty, so nothing fits
		return b
	}
	b.single = p.Limit(SingleAlloc)
	b.shared[pooledBytes].open(p.Limit(Total))
	b.shared[pooledItems].open(p.Limit(Items))
	b.shared[pooledFiles].open(min(p.Limit(OpenFiles), systemFiles()))
	b.shared[pooledRequests].open(p.Limit(Requests))
	b.shared[pooledFetched].open(p.Limit(Fetched))
	b.working.open(p.Limit(WorkingSet))
	b.steps.open(p.Limit(StepCount))
	b.depth.open(p.Limit(Depth))
	part := parent != nil && parent.whole != nil // its time is that of the whole
	if d := p.Limit(Time); d != int64(NoTimeout) && !part {
		b.ctx, b.stop = context.WithTimeoutCause(b.life, time.Duration(d), &Error{Time, d, d})
	}
	return b
}

// Close ends the account and returns what it holds to its ancestors; later charges and
// returns have no effect. Closing twice is harmless.
func (b *Budget) Close() {
	if b.closed.Swap(true) {
		return
	}
	b.end(ErrClosed)
	b.stop()
	b.settle()
	b.passWork(b.Worked())
	for p := range b.shared {
		b.returnAbove(pool(p), b.shared[p].close())
	}
	if p := b.parent; p != nil {
		if b.probe {
			p.steps.note(b.steps.peak())
			p.working.note(b.working.peak())
			p.depth.note(b.depth.peak())
		}
		p.children.Add(-1)
	}
}

// Children is the number of children that are open.
func (b *Budget) Children() int { return int(b.children.Load()) }

// Policy returns the policy that the account was opened under.
func (b *Budget) Policy() *Policy { return &b.policy }

// Context returns the context of the operation, with its deadline.
func (b *Budget) Context() context.Context { return b.ctx }

// Err returns why the operation must stop: a deadline as an [*Error],
// [ErrClosed], the context's own cause, or nil.
func (b *Budget) Err() error {
	if b.ctx.Err() == nil {
		return nil
	}
	return endError(b.ctx, b.started)
}

// Alloc charges one buffer of n bytes, held for the life of the account. Call
// it before the allocation.
func (b *Budget) Alloc(n int64) error {
	if uint64(n) > uint64(b.single) {
		return b.refuse(SingleAlloc, n, b.single)
	}
	b.noteBuffer(n)
	if b.parent == nil && b.ctx.Err() == nil && b.shared[pooledBytes].take(n) {
		return nil // saves the call of charge
	}
	return b.charge(pooledBytes, n)
}

// noteBuffer records the largest buffer of this account and those above it.
func (b *Budget) noteBuffer(n int64) {
	for a := b; a != nil && n > a.largest.Load(); a = a.parent {
		storeMax(&a.largest, n)
	}
}

// Hold charges n bytes without checking the ceiling of a single buffer: for many small
// values at once, or for a buffer that [Budget.Drop] will give back.
func (b *Budget) Hold(n int64) error { return b.charge(pooledBytes, n) }

// Drop gives back n bytes that Hold or Alloc charged.
func (b *Budget) Drop(n int64) {
	if b.shared[pooledBytes].give(n) {
		b.dropped.Add(n)
		b.returnAbove(pooledBytes, n)
	}
}

// Charged is the sum of all bytes ever charged to this account and those below it, even if
// they were given back: an upper bound of what the operation allocated.
func (b *Budget) Charged() int64 { return b.shared[pooledBytes].used() + b.dropped.Load() }

// Lease charges one buffer of n bytes until release is called. Calling release
// again does nothing.
func (b *Budget) Lease(n int64) (release func(), err error) {
	if err := b.Alloc(n); err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() { b.Drop(n) }), nil
}

// OpenFile charges one open file until closed is called. Calling closed again
// does nothing.
func (b *Budget) OpenFile() (closed func(), err error) {
	if err := b.charge(pooledFiles, 1); err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() {
		if b.shared[pooledFiles].give(1) {
			b.returnAbove(pooledFiles, 1)
		}
	}), nil
}

// Items charges n counted things: tensors, keys, members, values.
func (b *Budget) Items(n int64) error { return b.charge(pooledItems, n) }

// Request charges one request to a server; Fetch charges n bytes of its answer.
func (b *Budget) Request() error      { return b.charge(pooledRequests, 1) }
func (b *Budget) Fetch(n int64) error { return b.charge(pooledFetched, n) }

// charge takes n from the account and from every ancestor, or from none. The account's
// own limit is checked first, so that a refused charge does not reach the ancestors. An
// operation that has ended gets nothing, so that code which allocates notices its
// deadline; except for files, where the caller's error says which one.
func (b *Budget) charge(p pool, n int64) error {
	if p != pooledFiles && b.ctx.Err() != nil {
		return b.Err()
	}
	for a := b; a != nil; a = a.parent {
		if !a.shared[p].take(n) {
			return b.refused(a, p, n)
		}
	}
	return nil
}

// refused gives back what the accounts below a have granted.
func (b *Budget) refused(a *Budget, p pool, n int64) error {
	err := a.refuse(poolAxis[p], n, a.shared[p].left())
	if a != b {
		err = &fromAbove{err, a}
	}
	for u := b; u != a; u = u.parent {
		if _, ok := u.shared[p].move(n); ok {
			continue
		}
		// If u was closed meanwhile, it has returned n to all its ancestors: rightly to
		// those below a, but a and those above never granted it.
		for ; a != nil; a = a.parent {
			if _, ok := a.shared[p].move(-n); !ok {
				break
			}
		}
		break
	}
	return err
}

// fromAbove is a refusal by an ancestor of the charged account.
type fromAbove struct {
	error
	by *Budget
}

func (a *fromAbove) Unwrap() error { return a.error }

// Refused reports whether an error of an account below was caused by this account or one
// above it. Then other operations have used up the room, and the error says nothing about
// the file.
func (b *Budget) Refused(err error) bool {
	e, ok := errors.AsType[*fromAbove](err)
	for a := b; ok && a != nil; a = a.parent {
		if a == e.by {
			return true
		}
	}
	return false
}

// refuse returns why the account grants nothing: its end, or the axis.
func (b *Budget) refuse(a Axis, want, left int64) error {
	switch {
	case b.invalid != nil:
		return b.invalid
	case b.closed.Load():
		return ErrClosed
	}
	return &Error{a, want, left}
}

// returnAbove gives n back to the ancestors. If one is closed, it has already returned
// everything to those above it.
func (b *Budget) returnAbove(p pool, n int64) {
	for a := b.parent; a != nil; a = a.parent {
		if !a.shared[p].give(n) {
			return
		}
		if p == pooledBytes {
			a.dropped.Add(n)
		}
	}
}

// Enter goes one level deeper; call Leave on the way back. The level belongs to
// the operation, so nested decoding stays in one goroutine.
func (b *Budget) Enter() error {
	if !b.depth.take(1) {
		return b.refuse(Depth, 1, b.depth.left())
	}
	return nil
}

// Leave undoes one Enter.
func (b *Budget) Leave() { b.depth.give(1) }
