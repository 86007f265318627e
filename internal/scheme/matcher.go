package scheme

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A matcher reports whether a name matches any of a list of globs. It tries all globs at
// once: the time for a name does not depend on the length of the list, except for globs
// of several pieces whose first piece occurs in the name. A name matches a glob if it
// contains the pieces between the stars in order; anything may precede the first and
// follow the last.
//
// The first pieces form an Aho-Corasick automaton: a node is a suffix of the text read so
// far, and fail is the node of its longest proper suffix.
type matcher struct {
	b     *limits.Budget
	nodes []matchNode
	rests []matchRest
}

type matchNode struct {
	child, sibling int32 // in the trie, or 0
	fail           int32
	ends           int32 // the nearest node along fail at which a piece ends, or 0
	rest           int32 // index of what must follow a piece that ends here, or 0
	char           byte
	ends1          bool // a glob of one piece ends here
}

// A matchRest is the pieces of a glob after the first.
type matchRest struct {
	pieces []string
	next   int32 // index of the next glob with the same first piece, or 0
}

// newMatcher compiles globs. An empty glob, or one of only stars, matches nothing.
func newMatcher(b *limits.Budget, globs []string) (*matcher, error) {
	m := &matcher{b: b, nodes: make([]matchNode, 1, 2), rests: make([]matchRest, 1, 2)}
	for _, glob := range globs {
		if err := m.add(glob); err != nil {
			return nil, err
		}
	}
	return m, m.link()
}

func (m *matcher) add(glob string) error {
	if err := m.b.Step(int64(len(glob) + 1)); err != nil {
		return err
	}
	first, rest, more := strings.Cut(strings.TrimLeft(glob, "*"), "*")
	if first == "" {
		return nil
	}
	at := int32(0)
	for i := range len(first) {
		next, ok := m.child(at, first[i])
		if !ok {
			var err error
			next = int32(len(m.nodes))
			if m.nodes, err = limits.Append(m.b, m.nodes, matchNode{char: first[i], sibling: m.nodes[at].child}); err != nil {
				return err
			}
			m.nodes[at].child = next
		}
		at = next
	}
	if !more || strings.Trim(rest, "*") == "" {
		m.nodes[at].ends1 = true
		return nil
	}
	err := m.b.Hold(int64(strings.Count(rest, "*")+1) * config.NodeCost)
	if err != nil {
		return err
	}
	pieces := slices.DeleteFunc(strings.Split(rest, "*"), func(p string) bool { return p == "" })
	m.rests, err = limits.Append(m.b, m.rests, matchRest{pieces, m.nodes[at].rest})
	m.nodes[at].rest = int32(len(m.rests) - 1)
	return err
}

// child returns the child of a node by a character. A node has at most 256.
func (m *matcher) child(at int32, char byte) (int32, bool) {
	for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
		if m.nodes[c].char == char {
			return c, true
		}
	}
	return 0, false
}

// link sets fail of all nodes, short texts first.
func (m *matcher) link() error {
	queue, err := limits.Make[int32](m.b, len(m.nodes))
	if err != nil {
		return err
	}
	for done, end := 0, 1; done < end; done++ {
		at := queue[done]
		for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
			if err := m.b.Step(1); err != nil {
				return err
			}
			n := &m.nodes[c]
			if at != 0 {
				n.fail = m.next(m.nodes[at].fail, n.char)
			}
			f := &m.nodes[n.fail]
			if n.ends = f.ends; f.ends1 || f.rest != 0 {
				n.ends = n.fail
			}
			queue[end] = c
			end++
		}
	}
	return nil
}

// next returns the node after one more character.
func (m *matcher) next(at int32, char byte) int32 {
	for {
		if next, ok := m.child(at, char); ok {
			return next
		}
		if at == 0 {
			return 0
		}
		at = m.nodes[at].fail
	}
}

// match reports whether a name matches one of the globs.
func (m *matcher) match(name string) (bool, error) {
	if err := m.b.Step(int64(len(name) + 1)); err != nil {
		return false, err
	}
	at := int32(0)
	for i := range len(name) {
		at = m.next(at, name[i])
		for end := at; end != 0; end = m.nodes[end].ends {
			if m.nodes[end].ends1 {
				return true, nil
			}
			for r := m.nodes[end].rest; r != 0; r = m.rests[r].next {
				if err := m.b.Step(int64(len(name) - i)); err != nil {
					return false, err
				}
				if inOrder(name[i+1:], m.rests[r].pieces) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// inOrder reports whether name contains the pieces in order.
func inOrder(name string, pieces []string) bool {
	for _, p := range pieces {
		_, rest, ok := strings.Cut(name, p)
		if !ok {
			return false
		}
		name = rest
	}
	return true
}
