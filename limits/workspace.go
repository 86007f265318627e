package limits

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
	if !w.b.working.take(n) {
		return w.b.refuse(WorkingSet, n, w.b.working.left())
	}
	if err := w.b.Hold(n); err != nil {
		w.b.working.move(n)
		return err
	}
	w.held += n
	return nil
}

// Alloc charges one buffer of n bytes.
func (w *Workspace) Alloc(n int64) error {
	if uint64(n) > uint64(w.b.single) {
		return w.b.refuse(SingleAlloc, n, w.b.single)
	}
	w.b.noteBuffer(n)
	return w.Hold(n)
}

func (w *Workspace) ceiling() int64 { return w.b.single }

func (w *Workspace) moved(n int64) { w.Drop(n) }

// Drop gives back n bytes that Hold or Alloc charged.
func (w *Workspace) Drop(n int64) {
	w.held -= n
	w.b.working.give(n)
	w.b.Drop(n)
}

// Keep ends the working set as Close does, but leaves its bytes charged to
// MaxTotalBytes: they outlive the run, and [Budget.Drop] gives them back.
func (w *Workspace) Keep() (held int64) {
	held, w.held = w.held, 0
	w.b.working.give(held)
	return held
}

// Close gives back everything that is still held. Closing twice is harmless.
func (w *Workspace) Close() { w.Drop(w.held) }
