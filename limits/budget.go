package limits

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/watch"
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
// An account that does not exist (a nil *Budget, the zero Budget) or that is closed refuses
// every charge, with [ErrNoAccount] or [ErrClosed]. So does one that was opened with a nil
// context or a negative size. A negative amount is refused, and so is giving back more than
// the account holds ([ErrAmount]); neither changes anything.
//
// A Budget may be used by many goroutines at once. A [Steps] and a [Workspace] belong to
// one loop.
type Budget struct {
	pools   [poolCount]gauge        // what this account and those below it hold
	own     [poolCount]atomic.Int64 // what it was charged itself, at most what its pool holds
	parent  *Budget
	op      *operation   // nil in the zero Budget
	largest atomic.Int64 // the largest buffer so far
	dropped atomic.Int64 // bytes given back so far

	ctx      context.Context // ends with the operation, or its deadline
	life     context.Context // ends when the account closes; parent of the children's contexts
	end      context.CancelCauseFunc
	stop     context.CancelFunc
	children atomic.Int64
	closed   atomic.Bool
	holds    bool // opened by Holding: belongs to the parent's operation
	probe    bool // counts as a part of the parent's operation
}

// An operation is what the account of an operation shares with the accounts that
// [Budget.Holding] opens under it.
type operation struct {
	policy           Policy
	invalid          error // why every charge is refused: the policy, or how the account was opened
	single           int64 // the ceiling of one buffer
	started          time.Time
	steps            gauge
	ratios           ratios
	meter            func(steps int64)
	worked, inflated atomic.Int64 // steps of the closed accounts below; bytes inflated here and by them
	whole            *Budget      // the operation that this is a part of, see [Budget.Whole]
	outer            int64        // for the account of a whole: the size of its file
}

// Budget opens an account under the policy. When the context ends or the deadline passes,
// the operation ends within 1,024 steps. The account of an invalid policy refuses
// everything with [ErrPolicy].
func (p Policy) Budget(ctx context.Context) *Budget { return open(ctx, p, nil, nil) }

// exists reports whether the account was opened.
func (b *Budget) exists() bool { return b != nil && b.op != nil }

// Child opens an account under this one, for a tenant or a request. A charge must fit both.
// Close returns everything that the child holds to the parent. When the parent ends, the
// child ends too. Deadline, steps, depth and ratios are the child's own, because they
// belong to one operation.
func (b *Budget) Child(p Policy) *Budget {
	if !b.exists() {
		return open(context.Background(), p, nil, ErrNoAccount)
	}
	b.children.Add(1)
	ctx := b.life
	if b.op.whole == b {
		ctx = b.ctx // a part has no more time than the whole
	}
	c := open(ctx, p, b, nil)
	c.op.meter = b.op.meter
	if b.op.whole != nil {
		c.join(b.op.whole)
	}
	return c
}

// ChildContext is [Budget.Child] for an operation with a context of its own, such
// as a request's: it ends with that context, too.
func (b *Budget) ChildContext(ctx context.Context, p Policy) *Budget {
	c := b.Child(p)
	if ctx == nil {
		c.op.invalid = errNoContext
		c.end(errNoContext)
		return c
	}
	unhook := context.AfterFunc(ctx, func() { c.end(endError(ctx, c.op.started)) })
	stop := c.stop
	c.stop = func() { unhook(); stop() }
	return c
}

// Holding opens an account for what one thing holds that the operation may outlive, such
// as an open model. Close it with the thing: it returns bytes, items, files, levels and the
// working set. Policy, deadline, steps and ratios are those of the operation.
func (b *Budget) Holding() *Budget {
	if !b.exists() {
		return open(context.Background(), Policy{}, nil, ErrNoAccount)
	}
	h := &Budget{parent: b, op: b.op, holds: true, stop: func() {}}
	h.life, h.end = context.WithCancelCause(b.ctx)
	h.ctx = h.life
	for p := range h.pools {
		h.pools[p].open(b.pools[p].max)
	}
	return h
}

// endError returns why a context ended. Its deadline is a limit of the operation.
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
	p := b.Child(*b.Policy())
	p.probe = true
	return p
}

// open opens an account, which refuses everything if refusal is not nil.
func open(ctx context.Context, p Policy, parent *Budget, refusal error) *Budget {
	if ctx == nil {
		ctx, refusal = context.Background(), errNoContext
	}
	if refusal == nil {
		refusal = p.Validate()
	}
	op := &operation{policy: p, invalid: refusal, started: time.Now()}
	b := &Budget{op: op, parent: parent}
	b.life, b.end = context.WithCancelCause(ctx)
	b.ctx, b.stop = b.life, func() {}
	if refusal != nil {
		b.end(refusal) // the gauges stay empty, so nothing fits
		return b
	}
	op.single = p.Limit(SingleAlloc)
	op.steps.open(p.Limit(StepCount))
	for i := range b.pools {
		b.pools[i].open(p.Limit(poolAxis[i]))
	}
	b.pools[pooledFiles].open(min(p.Limit(OpenFiles), systemFiles()))
	part := parent != nil && parent.op.whole != nil // its time is that of the whole
	if d := p.Limit(Time); d != int64(NoTimeout) && !part {
		b.ctx, b.stop = context.WithTimeoutCause(b.life, time.Duration(d), &Error{Time, d, d})
	}
	return b
}

// Close ends the account and returns what it holds to its ancestors; later charges are
// refused, later returns change nothing. Closing twice is harmless.
func (b *Budget) Close() {
	if !b.exists() || b.closed.Swap(true) {
		return
	}
	b.end(ErrClosed)
	b.stop()
	b.settle()
	b.passWork()
	for p := range b.pools {
		b.returnAbove(pool(p), b.pools[p].close(), true)
	}
	if p := b.parent; p != nil {
		if b.probe {
			p.op.steps.note(b.op.steps.peak())
			for _, i := range []pool{pooledWorking, pooledDepth} {
				for a := p; a != nil; a = a.above(i) {
					a.pools[i].note(b.pools[i].peak())
				}
			}
		}
		if !b.holds {
			p.children.Add(-1)
		}
	}
}

// Children is the number of children that are open, without those of [Budget.Holding].
func (b *Budget) Children() int {
	if !b.exists() {
		return 0
	}
	return int(b.children.Load())
}

// Policy returns the policy that the account was opened under. That of an account which
// does not exist is invalid and refuses everything.
func (b *Budget) Policy() *Policy {
	if !b.exists() {
		return &Policy{MaxTotalBytes: -1, RefuseFormats: Formats(), RefuseFindings: []string{"*"}, RefuseUnknownMembers: true}
	}
	return &b.op.policy
}

// Context returns the context of the operation, with its deadline.
func (b *Budget) Context() context.Context {
	if !b.exists() {
		ctx, end := context.WithCancelCause(context.Background())
		end(ErrNoAccount)
		return ctx
	}
	return b.ctx
}

// Err returns why the operation must stop: a deadline as an [*Error],
// [ErrClosed], [ErrNoAccount], the context's own cause, or nil.
func (b *Budget) Err() error {
	if !b.exists() {
		return ErrNoAccount
	}
	watch.Look()
	if b.ctx.Err() == nil {
		return nil
	}
	return endError(b.ctx, b.op.started)
}

// Alloc charges one buffer of n bytes, held for the life of the account. Call
// it before the allocation.
func (b *Budget) Alloc(n int64) error {
	if !b.exists() {
		return ErrNoAccount
	}
	if uint64(n) > uint64(b.op.single) {
		return b.refuse(SingleAlloc, n, b.op.single)
	}
	b.noteBuffer(n)
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

// Drop gives back n bytes that Hold or Alloc charged. More than the account holds is not
// given back at all: the error is [ErrAmount]. After Close, which has returned everything,
// it is [ErrClosed], and harmless.
func (b *Budget) Drop(n int64) error { return b.giveBack(pooledBytes, n) }

// Charged is the sum of all bytes ever charged to this account and those below it, even if
// they were given back: an upper bound of what the operation allocated.
func (b *Budget) Charged() int64 {
	if !b.exists() {
		return 0
	}
	return b.pools[pooledBytes].used() + b.dropped.Load()
}

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
	return sync.OnceFunc(func() { b.giveBack(pooledFiles, 1) }), nil
}

// Items charges n counted things: tensors, keys, members, values.
func (b *Budget) Items(n int64) error { return b.charge(pooledItems, n) }

// Request charges one request to a server; Fetch charges n bytes of its answer.
func (b *Budget) Request() error      { return b.charge(pooledRequests, 1) }
func (b *Budget) Fetch(n int64) error { return b.charge(pooledFetched, n) }

// refuse returns why the account grants nothing: its end, or the axis.
func (b *Budget) refuse(a Axis, want, left int64) error {
	switch {
	case b.op.invalid != nil:
		return b.op.invalid
	case b.closed.Load():
		return ErrClosed
	}
	return &Error{a, want, left}
}

// Enter goes one level deeper; call Leave on the way back. The level belongs to
// the operation, so nested decoding stays in one goroutine.
func (b *Budget) Enter() error { return b.charge(pooledDepth, 1) }

// Leave undoes one Enter.
func (b *Budget) Leave() error { return b.giveBack(pooledDepth, 1) }
