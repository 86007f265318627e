package vm

import (
	"slices"
	"strings"
)

// matches reports whether a value is as a pattern says; of is the class whose state it is.
func (m *matcher) matches(p *pattern, r ref, of *class) bool {
	m.cost++
	kind := m.g.kind(r)
	switch p.op {
	case anyValue:
		return true
	case plainData:
		return m.isPlain(r)
	case ofKind:
		return int64(kind) == p.num
	case classOnly, plainClass, arrayClass, typeOf:
		return kind == KindGlobal && m.matchesClass(p, r)
	case instance:
		return m.isInstance(r, p.class)
	case either:
		for _, one := range p.parts {
			if m.matches(one, r, of) {
				return true
			}
		}
		return false
	case tupleOf:
		return kind == KindTuple && m.matchesTuple(p, m.g.node(r), of)
	case listOf:
		if p.parts == nil {
			return kind == KindList && m.g.id(r) == NoID && m.g.node(r).n == 0
		}
		return kind == KindList && m.g.id(r) == NoID && m.all(r, func(r ref) bool { return m.matches(p.parts[0], r, of) })
	case dictOf, record, attributes:
		return kind == KindDict && m.matchesDict(p, r, of)
	case keyedDict:
		return kind == KindDict && m.g.id(r) != NoID
	case numericOf:
		return m.isNumeric(r)
	}
	if kind == KindObject {
		return m.matchesObject(p, r)
	}
	return m.matchesSimple(p, r, kind)
}

// matchesSimple has the patterns of numbers and texts.
func (m *matcher) matchesSimple(p *pattern, r ref, kind Kind) bool {
	switch p.op {
	case boolean:
		return kind == KindBool && (r == refTrue) == (p.num == 1)
	case number:
		return kind == KindInt || kind == KindFloat
	case small:
		n, ok := m.g.int64(r)
		return ok && n >= -1024 && n <= 1024
	case positive:
		n, ok := m.g.int64(r)
		return ok && kind == KindInt && n >= 1 && n <= 1<<31-1
	case int64Of:
		_, ok := m.g.int64(r)
		return ok && kind == KindInt
	case textOf:
		return (kind == KindText || kind == KindBytes) && m.g.text(r) == p.text
	case versionOf:
		return kind == KindText && m.isVersion(p.keys, m.g.text(r))
	case integerOf:
		n, ok := m.g.int64(r)
		return ok && n == p.num
	}
	return false
}

// isVersion reports whether a text is one of the versions whose form is being matched, and leaves
// that one only.
func (m *matcher) isVersion(versions []string, text string) bool {
	i := slices.Index(versions, text)
	m.cost += int64(len(versions) / 8)
	if i < 0 {
		return false
	}
	m.stated &= 1 << i
	return m.stated != 0
}

// matchesClass has the patterns of classes themselves.
func (m *matcher) matchesClass(p *pattern, r ref) bool {
	switch p.op {
	case plainClass:
		return m.g.id(r) == PlainType
	case arrayClass:
		return m.g.id(r) == NumpyArray
	case typeOf:
		return m.g.id(r) == TorchDType
	}
	return m.g.global(r).class == p.class
}

// isInstance reports whether r is what a call of a class gave that was not refused.
func (m *matcher) isInstance(r ref, c *class) bool {
	if m.g.kind(r) != KindObject || m.g.node(r).flags&flagRefused != 0 {
		return false
	}
	own := m.g.global(r)
	return own != nil && own.class == c
}

// matchesObject has the patterns of objects whose classes the machine knows itself.
func (m *matcher) matchesObject(p *pattern, r ref) bool {
	id := m.g.id(r)
	switch p.op {
	case anyArray:
		return m.isArray(r)
	case arrayOf:
		return m.isArrayOf(r, p)
	case dtypeOf:
		return id == NumpyDType
	case scalarOf:
		return id == NumpyScalar
	case moment:
		return id == DateTime
	case sliceOf:
		return id == Slice
	case pathOf:
		return id == Path
	case sizeOf:
		return id == TorchSize
	case layoutOf:
		return id == TorchLayout
	}
	return false
}

func (m *matcher) matchesTuple(p *pattern, n *node, of *class) bool {
	count := int(n.n)
	if count < p.least || count > len(p.parts) && !p.rest {
		return false
	}
	for i := range count {
		if !m.matches(p.parts[min(i, len(p.parts)-1)], m.g.elem(n.a+uint32(i)), of) {
			return false
		}
	}
	return true
}

func (m *matcher) matchesDict(p *pattern, r ref, of *class) bool {
	if m.g.id(r) != NoID {
		return false
	}
	n := m.g.node(r)
	seen := 0
	for i := range n.n {
		key, value := m.g.elem(n.a+2*i), m.g.elem(n.a+2*i+1)
		m.cost++
		switch p.op {
		case dictOf:
			if !m.matches(p.parts[0], key, of) || !m.matches(p.parts[1], value, of) {
				return false
			}
		case attributes:
			if !m.isAttribute(key, of) {
				return false
			}
		default:
			at := m.recordKey(p, key)
			if at < 0 || !m.matches(p.parts[at], value, of) {
				return false
			}
			if at < p.least {
				seen++
			}
		}
	}
	return p.op != record || seen == p.least
}

// recordKey returns the position of a key, or -1. Keys are few, and each is charged.
func (m *matcher) recordKey(p *pattern, key ref) int {
	if m.g.kind(key) != KindText {
		return -1
	}
	text := m.g.text(key)
	for i, one := range p.keys {
		if one == text {
			m.cost += int64(i / 8)
			return i
		}
	}
	return -1
}

// isAttribute reports whether an instance of a class may have an attribute of this name:
// no name that Python looks up, and none that the class has itself.
func (m *matcher) isAttribute(key ref, of *class) bool {
	if m.g.kind(key) != KindText {
		return false
	}
	name := m.g.text(key)
	return !strings.HasPrefix(name, "__") && (of == nil || !of.owns[name])
}

// isPlain reports whether a value contains no function at any depth. A method that calls an
// attribute can then only call a type of numbers or a class of a set. An instance of such a class was
// checked when it got its state.
func (m *matcher) isPlain(r ref) bool {
	if m.cost++; m.cost > m.allowed() {
		return false // settle ends the run
	}
	switch m.g.kind(r) {
	case KindGlobal:
		id := m.g.id(r)
		return id == NumpyType || id == PlainType || id == SetMember || id == OrderedDict
	case KindTuple, KindList, KindSet:
		return m.all(r, m.isPlain)
	case KindDict:
		n := m.g.node(r)
		for i := range n.n {
			if !m.isPlain(m.g.elem(n.a+2*i)) || !m.isPlain(m.g.elem(n.a+2*i+1)) {
				return false
			}
		}
	case KindObject:
		return m.isPlainObject(r)
	case KindPersistent:
		return false
	}
	a := m.g.attrs[uint32(r)]
	return (a.state == refAbsent || m.isPlain(a.state)) && (a.extra == refAbsent || m.isPlain(a.extra))
}

func (m *matcher) isPlainObject(r ref) bool {
	switch m.g.id(r) {
	case SetMember:
		return m.g.node(r).flags&flagRefused == 0
	case NumpyReconstruct, NumpyFromBuffer, NumpyDType, NumpyScalar:
		v, ok := m.view(r)
		return m.g.id(r) != NumpyReconstruct || ok && (m.g.kind(v.data) != KindList || m.isPlain(v.data))
	case JoblibArray: // one of objects keeps another array
		held := m.held(r)
		return held == refAbsent || m.isPlain(held)
	case LibraryData, DateTime, Complex, Slice, Range:
		state := m.g.state(r)
		return m.plainArgs(r) && (state == refAbsent || m.isPlain(state))
	}
	return false
}

// plainArgs reports whether the arguments of a call have no function in them. A class that the call
// returns does not count: (ndarray, (0,), "b").
func (m *matcher) plainArgs(r ref) bool {
	return m.all(m.argsOf(r), func(arg ref) bool {
		if m.g.kind(arg) == KindGlobal {
			id := m.g.id(arg)
			return id == LibraryData || id == NumpyArray || m.isPlain(arg)
		}
		return m.isPlain(arg)
	})
}
