package vm

import (
	"math"
	"strings"
)

// The state of a numpy.dtype describes memory that NumPy reads without further checks:
// fields beyond the end of an element, or flags that turn bytes into pointers (2.4.6
// accepts both). NumPy rejects or ignores parts of other states. So only states that
// NumPy itself would write are accepted: numpy/_core/src/multiarray/descriptor.c.

// The parts of a state.
const (
	dtypeVersion = iota
	dtypeOrder
	dtypeSubarray
	dtypeNames
	dtypeFields
	dtypeSize
	dtypeAlignment
	dtypeFlag
	dtypeMeta
)

// The flags of a dtype. Those of references and pointers say what NumPy takes bytes for.
const (
	hasReferences = 0x01
	objectFlags   = 0x3f // of a dtype of objects
	fieldFlags    = 0x1b // of a structure with objects inside
	needsInit     = 0x08 // for U, and for types with a U inside
	needsPyAPI    = 0x10 // for structures, since NumPy 1.7
	alignedStruct = 0x80
)

// isDTypeState reports whether r is a state for numpy.dtype.__setstate__: version, order,
// subarray, names, fields, size, alignment, flags and metadata.
func (m *matcher) isDTypeState(n *node) bool {
	part := func(i uint32) ref { return m.g.elem(n.a + i) }
	if n.n != dtypeMeta && n.n != dtypeMeta+1 {
		return false
	}
	for _, i := range []uint32{dtypeVersion, dtypeSize, dtypeAlignment, dtypeFlag} {
		if m.g.kind(part(i)) != KindInt || !m.g.isInt64(part(i)) {
			return false
		}
	}
	// The fourth version has metadata.
	if version, _ := m.g.int64(part(dtypeVersion)); version != 3 && n.n == dtypeMeta || version != 4 && n.n > dtypeMeta {
		return false
	}
	names := func(r ref) bool { return m.g.kind(r) == KindText }
	return m.fits("x", part(dtypeOrder), refAbsent) &&
		(part(dtypeSubarray) == refNone || m.isSubarray(part(dtypeSubarray))) &&
		(part(dtypeNames) == refNone || m.g.kind(part(dtypeNames)) == KindTuple && m.all(part(dtypeNames), names)) &&
		(part(dtypeFields) == refNone || m.isFields(part(dtypeFields)))
}

// isSubarray reports whether r is (dtype, shape).
func (m *matcher) isSubarray(r ref) bool {
	return m.g.kind(r) == KindTuple &&
		(m.takesOne("JI", m.g.node(r)) || m.takesOne("Ji", m.g.node(r)))
}

// isFields reports whether r is {name: (dtype, offset[, title])}.
func (m *matcher) isFields(r ref) bool {
	if m.g.kind(r) != KindDict || m.g.id(r) != NoID {
		return false
	}
	n := m.g.node(r)
	m.cost += int64(n.n)
	for i := range n.n {
		field := m.g.elem(n.a + 2*i + 1)
		if m.g.kind(m.g.elem(n.a+2*i)) != KindText || m.g.kind(field) != KindTuple ||
			!m.takesOne("Ji?t", m.g.node(field)) {
			return false
		}
	}
	return true
}

// dtypeFits reports whether a state of the right types describes a dtype as its code
// does: with that size and order, and every field inside.
func (m *matcher) dtypeFits(dtype, state ref) bool {
	size, code, ok := m.sizeWith(dtype, state)
	n := m.g.node(state)
	part := func(i uint32) ref { return m.g.elem(n.a + i) }
	if !ok || !m.orderFits(m.g.text(part(dtypeOrder)), code, size) || !m.metaFits(n, code) {
		return false
	}
	stated, _ := m.g.int64(part(dtypeSize))
	alignment, _ := m.g.int64(part(dtypeAlignment))
	flags := m.flagsOf(part(dtypeFlag))
	if sized := strings.IndexByte(flexible, code) < 0; sized {
		if stated != -1 || alignment != -1 {
			return false
		}
	} else if stated != int64(size) || alignment < 1 || alignment > 64 || alignment&(alignment-1) != 0 {
		return false
	}
	structure := part(dtypeFields) != refNone
	if structure != (part(dtypeNames) != refNone) {
		return false
	}
	switch {
	case code == objectCode:
		return flags == objectFlags && part(dtypeSubarray) == refNone && !structure
	case code != 'V':
		return (flags == 0 || flags == needsInit && code == 'U') && part(dtypeSubarray) == refNone && !structure
	case structure:
		return m.fieldsFit(part(dtypeFields), size, flags) && part(dtypeSubarray) == refNone && m.namesFit(part(dtypeNames), part(dtypeFields))
	default:
		return (flags == 0 || flags == needsInit && part(dtypeSubarray) != refNone) && m.subarrayFits(part(dtypeSubarray), size)
	}
}

// flagsOf returns the flags of a dtype, which were a signed byte before NumPy 2.
func (m *matcher) flagsOf(r ref) int64 {
	flags, _ := m.g.int64(r)
	if flags >= math.MinInt8 && flags < 0 {
		return flags & math.MaxUint8
	}
	return flags
}

// orderFits reports whether order is the mark that NumPy writes: for more than one byte,
// that of the writing machine. NumPy also accepts "=", which is ambiguous on another
// machine.
func (m *matcher) orderFits(order string, code byte, size uint64) bool {
	if code == 'S' || code == 'V' || code == objectCode || size == 1 {
		return order == "|"
	}
	return order == "<" || order == ">"
}

// metaFits checks metadata: the unit for types of time, a dict for others.
func (m *matcher) metaFits(n *node, code byte) bool {
	isTime := code == 'm' || code == 'M'
	if n.n == dtypeMeta {
		return !isTime
	}
	meta := m.g.elem(n.a + dtypeMeta)
	if isTime {
		return m.g.kind(meta) == KindTuple && m.isTimeUnit(meta)
	}
	return m.g.kind(meta) == KindDict
}

// isTimeUnit reports whether r is (metadata, (unit, number, 1, 1)), which NumPy pickles
// for types of time.
func (m *matcher) isTimeUnit(r ref) bool {
	n := m.g.node(r)
	if n.n != 2 || m.g.kind(m.g.elem(n.a+1)) != KindTuple {
		return false
	}
	unit := m.g.elem(n.a + 1)
	if !m.takesOne("xiii", m.g.node(unit)) || !strings.Contains(timeUnits, " "+m.g.text(m.arg(unit, 0))+" ") {
		return false
	}
	for i := uint32(1); i < 4; i++ {
		k, _ := m.g.int64(m.arg(unit, i))
		if k < 1 || k > math.MaxInt32 || i > 1 && k != 1 {
			return false
		}
	}
	return m.g.kind(m.g.elem(n.a)) == KindNone || m.g.kind(m.g.elem(n.a)) == KindDict
}

// timeUnits are NumPy's: numpy/_core/src/multiarray/datetime.c.
const timeUnits = " Y M W D h m s ms us \u03bcs ns ps fs as generic "

// subarrayFits reports whether r is (dtype, shape) with exactly the size of the element.
func (m *matcher) subarrayFits(r ref, size uint64) bool {
	if r == refNone {
		return true
	}
	n := m.g.node(r)
	all, _, ok := m.codeSize(m.g.elem(n.a))
	if !ok || m.isSubarrayType(m.g.elem(n.a)) || m.hasObjects(m.g.elem(n.a)) {
		return false
	}
	shape := m.g.elem(n.a + 1)
	if m.g.kind(shape) != KindTuple {
		d, ok := m.g.int64(shape)
		return ok && d >= 0 && d <= mostElements && all*uint64(d) == size
	}
	count, ok := m.elements(shape)
	return ok && all*count == size
}

// isSubarrayType reports whether dtype is of subarrays. No array has such a dtype: NumPy
// makes their shape part of its own.
func (m *matcher) isSubarrayType(dtype ref) bool {
	state := m.g.state(dtype)
	return state != refAbsent && m.g.kind(state) == KindTuple && m.g.node(state).n > dtypeSubarray &&
		m.arg(state, dtypeSubarray) != refNone
}

// fieldsFit reports whether all fields are inside an element, and whether the flags say
// that one has objects if it does, and that its elements are read with the interpreter
// held, as NumPy sets it for every structure. The bytes of an object belong to no other field, as
// they are taken for a pointer.
func (m *matcher) fieldsFit(r ref, size uint64, flags int64) bool {
	n, objects := m.g.node(r), false
	m.cost += int64(n.n)
	for i := range n.n {
		at, one, ok := m.field(n, i)
		if !ok || one > size || at > size-one {
			return false
		}
		objects = objects || m.hasObjects(m.fieldType(n, i))
	}
	if !objects {
		return flags&^(needsInit|alignedStruct) == needsPyAPI
	}
	return flags&^alignedStruct == fieldFlags && m.fieldsApart(n)
}

// fieldsApart reports whether no two fields share a byte.
func (m *matcher) fieldsApart(n *node) bool {
	if n.n > fewFields {
		return false
	}
	for i := range n.n {
		m.cost += int64(n.n)
		for k := range i {
			a, x, _ := m.field(n, i)
			b, y, _ := m.field(n, k)
			if a < b+y && b < a+x {
				return false
			}
		}
	}
	return true
}

// field returns the place and the size of a field.
func (m *matcher) field(fields *node, i uint32) (at, size uint64, ok bool) {
	size, _, ok = m.codeSize(m.fieldType(fields, i))
	place, _ := m.g.int64(m.g.elem(m.g.node(m.g.elem(fields.a+2*i+1)).a + 1))
	return uint64(place), size, ok && place >= 0
}

func (m *matcher) fieldType(fields *node, i uint32) ref {
	return m.g.elem(m.g.node(m.g.elem(fields.a + 2*i + 1)).a)
}

// fewFields is the number of fields up to which they may be in any order, as Python 2
// wrote them.
const fewFields = 128

// namesFit reports whether names are those of the fields, each once. A field with a title
// is in the dict under the title too.
func (m *matcher) namesFit(names, fields ref) bool {
	n, f := m.g.node(names), m.g.node(fields)
	m.cost += int64(n.n)
	key := func(i uint32) string { return m.g.text(m.g.elem(f.a + 2*i)) }
	isTitle := func(i uint32) bool {
		field := m.g.node(m.g.elem(f.a + 2*i + 1))
		return field.n == 3 && m.g.text(m.g.elem(field.a+2)) == key(i)
	}
	at, inOrder := uint32(0), true
	for i := range f.n {
		if isTitle(i) {
			continue
		}
		inOrder = inOrder && at < n.n && m.g.text(m.g.elem(n.a+at)) == key(i)
		at++
	}
	if at != n.n || inOrder || n.n > fewFields {
		return at == n.n && inOrder
	}
	var seen [fewFields]bool
	for i := range n.n {
		found, place := false, 0
		for k := range f.n {
			if isTitle(k) {
				continue
			}
			if !seen[place] && key(k) == m.g.text(m.g.elem(n.a+i)) {
				seen[place], found = true, true
				break
			}
			place++
		}
		if m.cost += int64(f.n); !found {
			return false
		}
	}
	return true
}
