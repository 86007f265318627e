package limits

import (
	"errors"
	"fmt"
)

// A Workspace is the working set of one run of the pickle machine. It adds up the charges
// to MaxWorkingSet and MaxTotalBytes, so that one Close gives all of them back. It is not
// safe for concurrent use.
type Workspace struct {
	b    *Budget
	held int64
}

// Workspace opens an empty working set.
func (b *Budget) Workspace() Workspace { return Workspace{b: b} }

// Hold charges n bytes, as [Budget.Hold] does.
func (w *Workspace) Hold(n int64) error {
	if w == nil {
		return ErrNoAccount
	}
	if w.b.exists() && w.b.Err() == nil {
		if a := w.b.full(pooledWorking, n); a != nil {
			return w.b.refused(a, pooledWorking, n)
		}
	}
	if err := w.b.Hold(n); err != nil {
		return err
	}
	if err := w.b.charge(pooledWorking, n); err != nil { // another workspace was faster
		w.b.Drop(n)
		return err
	}
	w.held += n
	return nil
}

// Alloc charges one buffer of n bytes.
func (w *Workspace) Alloc(n int64) error {
	if w == nil || !w.b.exists() {
		return ErrNoAccount
	}
	if uint64(n) > uint64(w.b.op.single) {
		return w.b.refuse(SingleAlloc, n, w.b.op.single)
	}
	w.b.noteBuffer(n)
	return w.Hold(n)
}

func (w *Workspace) ceiling() int64 {
	if w == nil {
		return 0
	}
	return w.b.ceiling()
}

func (w *Workspace) moved(n int64) { w.Drop(n) }

// Drop gives back n bytes that Hold or Alloc charged. More than the workspace holds is not
// given back at all: the error is [ErrAmount].
func (w *Workspace) Drop(n int64) error {
	if w == nil || !w.b.exists() {
		return ErrNoAccount
	}
	if n < 0 || n > w.held {
		return fmt.Errorf("%w: %d given back of a working set, %d held", ErrAmount, n, w.held)
	}
	w.held -= n
	return errors.Join(w.b.giveBack(pooledWorking, n), w.b.Drop(n))
}

// Keep ends the working set as Close does, but leaves its bytes charged to
// MaxTotalBytes: they outlive the run, and [Budget.Drop] gives them back.
func (w *Workspace) Keep() (held int64) {
	if w == nil || !w.b.exists() {
		return 0
	}
	held, w.held = w.held, 0
	w.b.giveBack(pooledWorking, held)
	return held
}

// Close gives back everything that is still held. Closing twice is harmless.
func (w *Workspace) Close() {
	if w != nil {
		w.Drop(w.held)
	}
}
