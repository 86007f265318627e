package vm

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An unpickler is what belongs to one pickle and not to the graph: the object of that name in
// Python has the same. A pickle inside another, as joblib writes for an array of objects, has its own.
type unpickler struct {
	stack []ref
	marks []uint32 // stack heights
	low   int      // the height below which an instruction may not pop
	memo  memo
	frame int // the end of the frame, 0 outside one
	begun int // where the pickle begins, which is not 0 for one inside another
}

// firstStack is enough for the stack of most checkpoints.
const firstStack = 512

// push pushes a value. No instruction pushes more than one, and step has made room.
func (u *unpickler) push(r ref) error {
	u.stack = append(u.stack, r)
	return nil
}

// widen makes room for n more values on the stack.
func (u *unpickler) widen(w *limits.Workspace, n int) error {
	grown, err := limits.Grow(w, u.stack, max(n, firstStack-len(u.stack)))
	if err == nil {
		u.stack = grown
	}
	return err
}

// have checks that there are n values on the stack above the mark.
func (u *unpickler) have(n int) error {
	if len(u.stack)-u.low >= n {
		return nil
	}
	return u.lacks()
}

func (u *unpickler) lacks() error {
	if len(u.marks) > 0 {
		return wire.ErrSyntax.WithRule("pickle.stack").Errorf("a MARK in place of a value")
	}
	return wire.ErrSyntax.WithRule("pickle.stack").Errorf("the stack is empty")
}

// pop pops a value; the caller has checked have.
func (u *unpickler) pop() ref {
	r := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return r
}

func (u *unpickler) top() ref { return u.stack[len(u.stack)-1] }

// unmark drops the mark on top.
func (u *unpickler) unmark() {
	u.marks = u.marks[:len(u.marks)-1]
	u.low = 0
	if n := len(u.marks); n > 0 {
		u.low = int(u.marks[n-1])
	}
}

// popMark pops the top mark and the values above it, which stay valid until the next
// push.
func (u *unpickler) popMark() ([]ref, error) {
	if len(u.marks) == 0 {
		return nil, errNoMark()
	}
	at := u.low
	u.unmark()
	items := u.stack[at:]
	u.stack = u.stack[:at]
	return items, nil
}

func errNoMark() error { return wire.ErrSyntax.WithRule("pickle.stack").Errorf("no MARK is open") }

// room is the memory of an unpickler.
func (u *unpickler) room() int64 {
	return 4*int64(cap(u.stack)+cap(u.marks)+cap(u.memo.dense)) + 8*int64(cap(u.memo.sparse))
}
