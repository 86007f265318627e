package vm

import (
	"github.com/anamnesis-go/anamnesis/limits"
)

// A call looks at its arguments when it is made, and BUILD at its state; this
// package looks at them when the caller asks, after the last instruction. Both see
// the same only if nothing of them changes in between. So what a call, a state or
// a key refers to is frozen, with all that hangs on it: a later instruction that
// would change it is refused. Picklers finish every argument before they write the
// call; only a value that contains itself is written in another order.

// freeze marks a value and all that hangs on it. It enters each value once in a
// run, so that all calls of it together take time by the size of the pickle.
func (m *machine) freeze(r ref) error { return m.freezeBelow(r, 0) }

func (m *machine) freezeBelow(r ref, above uint16) error {
	if !m.g.holds(r) {
		return nil
	}
	n := m.g.node(r)
	if n.flags&flagFrozen != 0 {
		return nil
	}
	if above >= m.maxDepth { // containers that grew late may be deeper than they say
		return &limits.Error{Axis: limits.Depth, Want: int64(above) + 1, Left: int64(m.maxDepth)}
	}
	if err := m.steps.Step(); err != nil {
		return err
	}
	n.flags |= flagFrozen
	for i := uint32(0); ; i++ {
		child, more := m.g.child(r, i)
		if !more {
			return nil
		}
		if child >= inline {
			continue
		}
		if err := m.freezeBelow(child, above+1); err != nil {
			return err
		}
	}
}

// unfrozen asks that nothing has used a value that is about to change.
func (m *machine) unfrozen(r ref) error {
	if m.g.node(r).flags&flagFrozen == 0 || m.opaques && m.unknown(r) {
		return nil // an unknown call may have read anything
	}
	return m.strict(errChangedLater, "a %s changes after a call, a state or a key took it", r)
}
