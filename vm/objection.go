package vm

import "github.com/anamnesis-go/anamnesis/internal/wire"

// mostNamed bounds the attributes of a state that are looked at to say which one is unknown.
const mostNamed = 512

// objection says why an instance of a class of a set does not take a state: the version that it
// states, or an attribute, where one of these is the reason. with is the state if its shape is to
// replace %s in the text.
func (m *machine) objection(c *class, state ref) (why string, with ref) {
	if m.g.kind(state) != KindDict || len(m.verdicts.safe.Reasons) == maxReasons {
		return notTaken, state
	}
	library := c.set.Libraries[0].Name
	if c.dated != "" && m.match.dated(c, state) == 0 {
		return "BUILD states version " + wire.Quote(m.match.textAt(state, c.dated)) + " of " + library + ", from which the class set " + c.set.Name + " was not made", refAbsent
	}
	if name, ok := m.unknownAttribute(c, state); ok {
		return "BUILD gives it the attribute " + wire.Quote(name) + ", which it has in no version of " + library + " that could have written the rest of the file", refAbsent
	}
	return notTaken, state
}

const notTaken = "BUILD gives it %s, which it does not accept"

// unknownAttribute returns the first name of a state that no possible version of a class has.
func (m *machine) unknownAttribute(c *class, state ref) (name string, ok bool) {
	known := map[string]bool{}
	for i := range c.forms {
		f := &c.forms[i]
		if f.versions&m.match.possible(c.set)&m.match.dated(c, state) == 0 || f.state == nil {
			continue
		}
		if f.state.op != record {
			return "", false
		}
		for _, key := range f.state.keys {
			known[key] = true
		}
	}
	n := m.g.node(state)
	for i := range min(n.n, mostNamed) {
		m.match.cost++
		key := m.g.elem(n.a + 2*i)
		if m.g.kind(key) == KindText && len(known) > 0 && !known[m.g.text(key)] {
			return m.g.text(key), true
		}
	}
	return "", false
}
