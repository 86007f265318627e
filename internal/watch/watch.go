// Package watch shows tests each charge of an account, while it is made.
package watch

import "sync/atomic"

// A Charge observes the amount of each charge before the account takes it. While there is one,
// a meter of steps charges each step by itself.
type Charge func(kind string, n int64)

var watching atomic.Pointer[Charge]

// Set makes f the observer of charges; nil removes it.
func Set(f Charge) {
	if f == nil {
		watching.Store(nil)
		return
	}
	watching.Store(&f)
}

// On reports whether there is an observer.
func On() bool { return watching.Load() != nil }

// Tell tells of a charge.
func Tell(kind string, n int64) {
	if f := watching.Load(); f != nil {
		(*f)(kind, n)
	}
}

// A Refusal is asked before each charge of memory, items or files whether the account refuses
// it, whatever it holds.
type Refusal func(kind string, n int64) bool

var refusing atomic.Pointer[Refusal]

// SetRefusal makes f the one that is asked; nil ends that.
func SetRefusal(f Refusal) {
	if f == nil {
		refusing.Store(nil)
		return
	}
	refusing.Store(&f)
}

// Refuses asks about a charge.
func Refuses(kind string, n int64) bool {
	f := refusing.Load()
	return f != nil && (*f)(kind, n)
}

var looking atomic.Pointer[func()]

// SetLook makes f the observer of each check of an account's context; nil removes it.
func SetLook(f func()) {
	if f == nil {
		looking.Store(nil)
		return
	}
	looking.Store(&f)
}

// Look tells that an account is asked whether its time is over.
func Look() {
	if f := looking.Load(); f != nil {
		(*f)()
	}
}
