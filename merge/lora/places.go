package lora

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A matcher matches expressions with one name of printable characters.
type matcher struct {
	steps *limits.Steps
	name  string
}

// places is a set of places in a name, at which parts of an expression begin or end.
type places [maxName/64 + 1]uint64

// maxName bounds the length of the names that are matched.
const maxName = 1023

func (p *places) has(i int) bool { return p[i/64]>>(i%64)&1 != 0 }
func (p *places) add(i int)      { p[i/64] |= 1 << (i % 64) }

func (p *places) join(q places) {
	for i := range p {
		p[i] |= q[i]
	}
}

// first returns the first place from i on, or -1.
func (p *places) first(i int) int {
	for w := i / 64; w < len(p); w++ {
		bit := p[w]
		if w == i/64 {
			bit &= ^uint64(0) << (i % 64)
		}
		if bit != 0 {
			return 64*w + bits.TrailingZeros64(bit)
		}
	}
	return -1
}

// fits reports whether the expression matches the whole name, as Python's re.fullmatch.
func (e *expression) fits(steps *limits.Steps, name string) (bool, error) {
	m := &matcher{steps, name}
	var from places
	from.add(0)
	to, err := m.ends(e, from)
	return to.has(len(name)), err
}

// ends returns the places at which an expression can end that begins at one of from.
func (m *matcher) ends(e *expression, from places) (to places, err error) {
	if err := m.steps.Step(); err != nil {
		return to, err
	}
	switch e.op {
	case opThen:
		for _, sub := range e.subs {
			if from, err = m.ends(sub, from); err != nil {
				return to, err
			}
		}
		return from, nil
	case opOr:
		for _, sub := range e.subs {
			one, err := m.ends(sub, from)
			if err != nil {
				return to, err
			}
			to.join(one)
		}
		return to, nil
	case opRepeat:
		return m.repeats(e, from)
	}
	for n, i := 1, from.first(0); i >= 0; n, i = n+1, from.first(i+1) {
		if n%stride == 0 {
			if err := m.steps.Step(); err != nil {
				return to, err
			}
		}
		ok, err := m.at(e, i)
		if err != nil {
			return to, err
		}
		switch {
		case !ok:
		case e.op == opSet:
			to.add(i + 1)
		default:
			to.add(i)
		}
	}
	return to, nil
}

// stride is the number of places per step.
const stride = 32

// repeats is ends for a repetition. After one repetition per place of the name, nothing changes.
func (m *matcher) repeats(e *expression, from places) (to places, err error) {
	if set := e.subs[0]; set.op == opSet && e.min <= 1 && e.max == unbounded {
		return m.repeatSet(set, from, e.min)
	}
	for n := 0; ; n++ {
		if n >= e.min {
			before := to
			if to.join(from); n > e.min && to == before {
				return to, nil
			}
		}
		if n >= e.max || n > e.min+len(m.name) || from == (places{}) {
			return to, nil
		}
		next, err := m.ends(e.subs[0], from)
		if err != nil {
			return to, err
		}
		if next == from && n < e.min {
			to.join(from)
			return to, nil
		}
		from = next
	}
}

// repeatSet is ends for at least least characters of a set.
func (m *matcher) repeatSet(set *expression, from places, least int) (to places, err error) {
	if least == 0 {
		to = from
	}
	for i, c := range []byte(m.name) {
		if i%stride == 0 {
			if err := m.steps.Step(); err != nil {
				return to, err
			}
		}
		if (from.has(i) || to.has(i)) && set.set[c/64]>>(c%64)&1 != 0 {
			to.add(i + 1)
		}
	}
	return to, nil
}

// at reports whether a character matches at place i, or whether an assertion holds there.
func (m *matcher) at(e *expression, i int) (bool, error) {
	word := func(i int) bool { return i >= 0 && i < len(m.name) && isWordByte(m.name[i]) }
	switch e.op {
	case opSet:
		if i >= len(m.name) {
			return false, nil
		}
		c := m.name[i]
		return e.set[c/64]>>(c%64)&1 != 0, nil
	case opBegin:
		return i == 0, nil
	case opEnd:
		return i == len(m.name), nil
	case opWord:
		return word(i-1) != word(i), nil
	case opNotWord:
		return word(i-1) == word(i), nil
	case opBehind:
		if i < e.subs[0].width {
			return e.not, nil
		}
	}
	var from places
	if e.op == opBehind {
		from.add(i - e.subs[0].width)
	} else {
		from.add(i)
	}
	to, err := m.ends(e.subs[0], from)
	if e.op == opBehind {
		return to.has(i) != e.not, err
	}
	return (to != places{}) != e.not, err
}
