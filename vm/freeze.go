package vm

import (
	"github.com/anamnesis-go/anamnesis/limits"
)

// A loader's call reads its arguments when it is made, and BUILD its state; this package
// reads them after the last instruction. Both see the same only if nothing changes in
// between. So the values that a call, a state or a key refers to are frozen, with
// everything below them, and a later change is refused. Picklers finish every argument
// before they write the call; only values that contain themselves are written in another
// order.

// freeze marks a value and everything below it. It enters each value once in a run, so
// that all calls together take time linear in the size of the pickle.
func (m *machine) freeze(r ref) error { return m.freezeBelow(r, 0) }

func (m *machine) freezeBelow(r ref, above uint16) error {
	if !m.g.holds(r) {
		return nil
	}
	n := m.g.node(r)
	if n.flags&flagFrozen != 0 {
		return nil
	}
	if above >= m.maxDepth { // containers that grew later may be deeper than recorded
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

// unfrozen returns an error if something has used a value that is about to change.
func (m *machine) unfrozen(r ref) error {
	if m.g.node(r).flags&flagFrozen == 0 || (m.opaques || m.scan) && m.unknown(r) && m.g.id(r) != SetMember {
		return nil // an unknown call may have read anything
	}
	return m.strict(errChangedLater, "a %s changes after a call, a state or a key took it", r)
}
