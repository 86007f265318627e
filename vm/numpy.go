package vm

import (
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// What numpy.dtype.__setstate__ is given describes memory that NumPy reads
// without a further look: fields beyond the end of an element, or flags that make
// bytes into pointers. (2.4.6 takes both.) So a state must be one that NumPy
// itself would write: numpy/_core/src/multiarray/descriptor.c.

const (
	// sizedTypes are the codes that numpy's dtypes of one size are pickled with.
	// Those that hold objects are not among them.
	sizedTypes = " b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 f12 f16 c8 c16 c24 c32 m8 M8 "
	flexible   = "SUV" // bytes, text, void: of any size
	// dtypeFlags are NEEDS_INIT, NEEDS_PYAPI and ALIGNED_STRUCT. The others are
	// of references and pointers.
	dtypeFlags = 0x08 | 0x10 | 0x80
)

// isCode reports a text that names one type without objects, as NumPy pickles it.
// It takes others, by a grammar of their own; T is text behind pointers.
func isCode(s string) bool {
	_, _, ok := typeCode(s)
	return ok
}

// typeCode reads "f8" or "U3": the size of an element, and the kind.
func typeCode(s string) (size uint64, code byte, ok bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	size, err := strconv.ParseUint(s[1:], 10, 31)
	if code = s[0]; err != nil || strings.IndexByte(flexible, code) < 0 && !strings.Contains(sizedTypes, " "+s+" ") {
		return 0, 0, false
	}
	if code == 'U' {
		size *= 4
	}
	return size, code, true
}

// The parts of a state.
const (
	dtypeSubarray = 2 + iota
	dtypeNames
	dtypeFields
	dtypeSize
	_ // alignment
	dtypeFlag
	dtypeMeta
)

// codeSize is the size of an element, which the code of a dtype says: "f8" or
// "U3". Nothing changes it.
func (m *machine) codeSize(dtype ref) (size uint64, code byte, ok bool) {
	args := m.g.elem(m.g.node(dtype).a + objArgs)
	if m.g.kind(args) != KindTuple || !m.takes(rules[NumpyDType].call, args) {
		return 0, 0, false // a scan has refused the call
	}
	first := m.g.elem(m.g.node(args).a)
	if m.g.kind(first) != KindText {
		return 0, 0, false
	}
	return typeCode(m.g.text(first))
}

// dtypeFits reports a state, of the right types, that describes a dtype as its
// code does: of that size, and with every field inside.
func (m *machine) dtypeFits(dtype, state ref) bool {
	size, code, ok := m.codeSize(dtype)
	n := m.g.node(state)
	part := func(i uint32) ref { return m.g.elem(n.a + i) }
	stated, _ := m.g.int64(part(dtypeSize))
	flags, _ := m.g.int64(part(dtypeFlag))
	sized := strings.IndexByte(flexible, code) < 0
	if !ok || stated != int64(size) && !(sized && stated == -1) || flags&^dtypeFlags != 0 {
		return false
	}
	if n.n > dtypeMeta {
		switch m.g.kind(part(dtypeMeta)) {
		case KindNone, KindDict:
		case KindTuple:
			if code != 'm' && code != 'M' || !m.isTimeUnit(part(dtypeMeta)) {
				return false
			}
		default:
			return false
		}
	}
	if code != 'V' {
		return part(dtypeSubarray) == refNone && part(dtypeNames) == refNone && part(dtypeFields) == refNone
	}
	return m.subarrayFits(part(dtypeSubarray), size) && m.fieldsFit(part(dtypeFields), size)
}

// isTimeUnit reports (metadata, (unit, number, 1, 1)), which NumPy pickles of types
// of time.
func (m *machine) isTimeUnit(r ref) bool {
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

// subarrayFits reports (dtype, shape) that has just the size of the element.
func (m *machine) subarrayFits(r ref, size uint64) bool {
	if r == refNone {
		return true
	}
	n := m.g.node(r)
	all, _, ok := m.codeSize(m.g.elem(n.a))
	if !ok {
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

// mostElements is more than a pickle can hold.
const mostElements = 1 << 31

// elements is how many elements an array of this shape has.
func (m *machine) elements(shape ref) (uint64, bool) {
	if m.g.kind(shape) != KindTuple {
		return 0, false
	}
	dims, product := m.g.node(shape), uint64(1)
	m.toil += int64(dims.n)
	if dims.n > maxRank {
		return 0, false
	}
	for i := range dims.n {
		d, ok := m.g.int64(m.g.elem(dims.a + i))
		if !ok || d < 0 || d > mostElements {
			return 0, false
		}
		if product *= uint64(d); product > mostElements {
			return 0, false
		}
	}
	return product, true
}

// isArrayVersion reports the state of an array, of the right types, in a version
// that NumPy reads. A state of four parts has none.
func (m *machine) isArrayVersion(state ref) bool {
	n := m.g.node(state)
	version, _ := m.g.int64(m.g.elem(n.a))
	return n.n == 4 || version == 0 || version == 1
}

// isArrayOrder reports arguments of _frombuffer that name one of the orders that
// picklers write. NumPy takes others too.
func (m *machine) isArrayOrder(args ref) bool {
	order := m.g.text(m.g.elem(m.g.node(args).a + 3))
	return order == "C" || order == "F"
}

// hasAllBytes asks that an array or a scalar has as many bytes as its shape and
// type say; parts are its state, or the arguments that make it.
func (m *machine) hasAllBytes(id ID, parts ref) error {
	n := m.g.node(parts)
	var data, dtype uint32
	shape := refEmpty
	switch {
	case id == NumpyScalar:
		dtype, data = n.a, n.a+1
	case id == NumpyFromBuffer:
		data, dtype, shape = n.a, n.a+1, m.g.elem(n.a+2)
	default: // before them, a version may stand
		dtype, data, shape = n.a+n.n-3, n.a+n.n-1, m.g.elem(n.a+n.n-4)
	}
	count, ok := m.elements(shape)
	size, _, known := m.codeSize(m.g.elem(dtype))
	if err := m.settle(); err != nil {
		return err
	}
	// A class may name a dtype, whose size is not known here, and what Python 2
	// wrote as text was encoded since.
	if data := m.g.elem(data); ok && (!known || m.g.kind(data) != KindBytes || count*size == uint64(len(m.g.text(data)))) {
		return nil
	}
	return m.strict(wire.ErrMismatch, "shape and type of an array ask for another number of bytes", refAbsent)
}

// maxRank is how many dimensions an array of NumPy can have.
const maxRank = 64

// fieldsFit reports fields that lie inside of an element.
func (m *machine) fieldsFit(r ref, size uint64) bool {
	if r == refNone {
		return true
	}
	n := m.g.node(r)
	m.toil += int64(n.n)
	for i := range n.n {
		field := m.g.node(m.g.elem(n.a + 2*i + 1))
		one, _, ok := m.codeSize(m.g.elem(field.a))
		at, _ := m.g.int64(m.g.elem(field.a + 1))
		if !ok || at < 0 || one > size || uint64(at) > size-one {
			return false
		}
	}
	return true
}
