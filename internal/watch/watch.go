// Package watch shows tests each charge of an account, while it is made.
package watch

import "sync/atomic"

// A Charge is told the amount of each charge before the account takes it. While there is one,
// a meter of steps charges each step by itself.
type Charge func(kind string, n int64)

var watching atomic.Pointer[Charge]

// Set makes f the one that is told; nil ends that.
func Set(f Charge) {
	if f == nil {
		watching.Store(nil)
		return
	}
	watching.Store(&f)
}

// On reports whether anybody is told.
func On() bool { return watching.Load() != nil }

// Tell tells of a charge.
func Tell(kind string, n int64) {
	if f := watching.Load(); f != nil {
		(*f)(kind, n)
	}
}
