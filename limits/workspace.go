package limits

import "reflect"

// A Workspace is the working set of one run of the pickle machine: it adds up
// what was charged to MaxWorkingSet and MaxTotalBytes, so that one Close gives
// all of it back. It is not safe for concurrent use.
type Workspace struct {
	b    *Budget
	held int64
}

// Workspace opens an empty working set.
func (b *Budget) Workspace() Workspace { return Workspace{b: b} }

// Take charges n bytes.
func (w *Workspace) Take(n int64) error {
	if err := w.b.Work(n); err != nil {
		return err
	}
	w.held += n
	return nil
}

// Alloc charges one buffer of n bytes.
func (w *Workspace) Alloc(n int64) error {
	if uint64(n) > uint64(w.b.single) {
		return &Error{SingleAlloc, n, w.b.single}
	}
	w.b.noteBuffer(n)
	return w.Take(n)
}

// Give returns n bytes that Take charged.
func (w *Workspace) Give(n int64) {
	w.held -= n
	w.b.Rest(n)
}

// Keep takes n bytes out of the working set and leaves them charged to
// MaxTotalBytes: they outlive the run, and [Budget.Drop] gives them back.
func (w *Workspace) Keep(n int64) {
	w.held -= n
	w.b.working.give(n)
}

// Held is what the working set holds.
func (w *Workspace) Held() int64 { return w.held }

// Close gives everything back that is still held. Closing twice is harmless.
func (w *Workspace) Close() { w.Give(w.held) }

// MakeWork is [Make] for a working set.
func MakeWork[T any](w *Workspace, n int) ([]T, error) {
	size, err := sizeOf[T](w.b, n)
	if err != nil {
		return nil, err
	}
	if err := w.Alloc(size); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// GrowWork is [Grow] for a working set. The old array is given back once its
// elements have moved, so nobody else may hold it.
func GrowWork[T any](w *Workspace, s []T, n int) ([]T, error) {
	if n <= cap(s)-len(s) {
		return s, nil
	}
	want := len(s) + max(n, len(s), 8)
	size, err := sizeOf[T](w.b, want)
	if err != nil {
		return s, err
	}
	if err := w.Alloc(size); err != nil {
		return s, err
	}
	grown := make([]T, len(s), want)
	copy(grown, s)
	w.Give(int64(cap(s)) * int64(reflect.TypeFor[T]().Size()))
	return grown, nil
}
