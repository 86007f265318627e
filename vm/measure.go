package vm

import (
	"github.com/anamnesis-go/anamnesis/limits"
)

// If a container grows after something referred to it, the recorded depth and size of
// that are too small, and it may come to contain itself. Picklers do this only for
// objects that refer to themselves. measure computes the true depth and size of the root
// by a walk that enters every value once.

// A visit is a value on the path from the root, and its next child.
type visit struct {
	r    ref
	next uint32
	t    trunk
}

func (m *machine) measure() error {
	if !m.g.holds(m.g.root) {
		return nil
	}
	path, err := m.visit(nil, m.g.root)
	for err == nil && len(path) > 0 {
		if err = m.steps.Step(); err != nil {
			break
		}
		v := &path[len(path)-1]
		child, more := m.g.child(v.r, v.next)
		v.next++
		switch {
		case !more:
			path, err = m.leave(path)
		case m.g.holds(child) && m.g.node(child).flags&flagDone == 0:
			path, err = m.visit(path, child)
		default:
			m.absorb(&v.t, []ref{child})
		}
	}
	if err != nil {
		return err
	}
	return m.replays(m.g.root)
}

// visit goes one level deeper.
func (m *machine) visit(path []visit, r ref) ([]visit, error) {
	n := m.g.node(r)
	if n.flags&flagMark != 0 {
		if (m.opaques || m.scan) && m.throughUnknown(path, r) {
			return path, nil
		}
		return path, m.strict(errContainsItself, "a %s contains itself", r)
	}
	if len(path) >= int(m.maxDepth) {
		return path, &limits.Error{Axis: limits.Depth, Want: int64(len(path)) + 1, Left: int64(m.maxDepth)}
	}
	path, err := limits.Grow(&m.tmp, path, 1)
	if err != nil {
		return path, err
	}
	n.flags |= flagMark
	return append(path, visit{r: r, t: trunk{size: 1}}), nil
}

// throughUnknown reports whether a value contains itself through an unknown object.
func (m *machine) throughUnknown(path []visit, r ref) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if m.unknown(path[i].r) {
			return true
		}
		if path[i].r == r {
			break
		}
	}
	return false
}

// leave stores the result for a value and adds it to its parent.
func (m *machine) leave(path []visit) ([]visit, error) {
	v := path[len(path)-1]
	depth, err := m.deeper(v.t.depth)
	if err != nil {
		return path, err
	}
	n := m.g.node(v.r)
	n.size, n.depth = v.t.size, depth
	n.flags = n.flags&^flagMark | flagDone
	path = path[:len(path)-1]
	if len(path) > 0 {
		m.absorb(&path[len(path)-1].t, []ref{v.r})
	}
	return path, nil
}

// holds reports whether a value refers to others.
func (g *Graph) holds(r ref) bool {
	switch g.kind(r) {
	case KindTuple, KindList, KindDict, KindSet, KindObject, KindPersistent:
		return r != refEmpty
	}
	return false
}

// child returns value i that a value refers to.
func (g *Graph) child(r ref, i uint32) (ref, bool) {
	n := g.node(r)
	count := n.n
	switch n.kind {
	case KindDict:
		count = 2 * n.n
	case KindPersistent:
		return ref(n.a), i == 0
	case KindObject:
		if i >= objSlots {
			a, has := g.attrs[uint32(r)] // the items of one that is a dict or a list
			return a.extra, has && i == objSlots
		}
		if i == objOff {
			return refNone, true
		}
		return g.elem(n.a + i), true
	}
	if i < count {
		return g.elem(n.a + i), true
	}
	a := g.attrs[uint32(r)]
	switch i - count {
	case 0:
		return a.state, true
	case 1:
		return a.extra, true
	}
	return 0, false
}
