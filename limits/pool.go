package limits

import (
	"errors"
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/watch"
)

// A pool is a sum that an account shares with accounts above it: up to that of the
// operation, or up to that of the host.
type pool uint8

const (
	pooledDepth    pool = iota // levels
	pooledWorking              // bytes held by the pickle machine
	pooledBytes                // from here up to the host: bytes
	pooledItems                // items
	pooledFiles                // files
	pooledRequests             // requests
	pooledFetched              // bytes of answers
	poolCount
)

var poolAxis = [poolCount]Axis{
	pooledDepth: Depth, pooledWorking: WorkingSet,
	pooledBytes: Total, pooledItems: Items, pooledFiles: OpenFiles, pooledRequests: Requests, pooledFetched: Fetched,
}

// above returns the next account that shares the pool, or nil.
func (b *Budget) above(p pool) *Budget {
	if p >= pooledBytes || b.holds {
		return b.parent
	}
	return nil
}

// charge takes n from the account and from every account above that shares the pool, or
// from none. An operation that has ended gets nothing, so that code which allocates notices
// its deadline; except for files, where the caller's error says which one.
func (b *Budget) charge(p pool, n int64) error {
	watch.Tell(poolAxis[p].String(), n)
	if !b.exists() {
		return ErrNoAccount
	}
	if p != pooledFiles && b.ctx.Err() != nil {
		return b.Err()
	}
	if watch.Refuses(poolAxis[p].String(), n) {
		return b.refused(b, p, n)
	}
	if b.above(p) != nil {
		if a := b.full(p, n); a != nil {
			return b.refused(a, p, n)
		}
	}
	if a := b.take(p, n); a != nil {
		return b.refused(a, p, n)
	}
	b.own[p].Add(n)
	return nil
}

// full returns the first account, from the bottom, that has no room for n, or nil. It is
// asked first, so that a refusal does not reach the accounts above.
func (b *Budget) full(p pool, n int64) *Budget {
	for a := b; a != nil; a = a.above(p) {
		if !a.pools[p].fits(n) {
			return a
		}
	}
	return nil
}

// take takes n from the top down, so that an account never holds more than the one above
// it, and returns the account that refused, or nil.
func (b *Budget) take(p pool, n int64) *Budget {
	if up := b.above(p); up != nil {
		if by := up.take(p, n); by != nil {
			return by
		}
	}
	if !b.pools[p].take(n) {
		b.returnAbove(p, n, false)
		return b
	}
	return nil
}

// refused returns the error of an account that refused a charge to b.
func (b *Budget) refused(a *Budget, p pool, n int64) error {
	err := a.refuse(poolAxis[p], n, a.pools[p].left())
	if a.op != b.op {
		err = &fromAbove{err, a}
	}
	return err
}

// fromAbove is a refusal by an account above that of the operation.
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

// giveBack gives n back to the account and to every account above that shares the pool, if
// the account was charged as much itself: what those below it hold is theirs.
func (b *Budget) giveBack(p pool, n int64) error {
	switch {
	case !b.exists():
		return ErrNoAccount
	case b.op.invalid != nil:
		return b.op.invalid
	case b.closed.Load():
		return ErrClosed
	}
	for {
		own := b.own[p].Load()
		if n < 0 || n > own {
			return fmt.Errorf("%w: %d given back of the axis %v, %d held", ErrAmount, n, poolAxis[p], own)
		}
		if b.own[p].CompareAndSwap(own, own-n) {
			break
		}
	}
	if !b.pools[p].give(n) {
		return ErrClosed // meanwhile; Close returned it
	}
	if p == pooledBytes {
		b.dropped.Add(n)
	}
	b.returnAbove(p, n, true)
	return nil
}

// returnAbove gives n back to the accounts above. If one is closed, it has already returned
// everything to those above it. spent says that n counts as charged.
func (b *Budget) returnAbove(p pool, n int64, spent bool) {
	for a := b.above(p); a != nil; a = a.above(p) {
		if !a.pools[p].give(n) {
			return
		}
		if spent && p == pooledBytes {
			a.dropped.Add(n)
		}
	}
}
