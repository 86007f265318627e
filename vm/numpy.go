package vm

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// sizedTypes are the codes with which numpy's dtypes of one size are pickled. A long double has
	// 16 bytes, on systems that have one. An object is a pointer of 64 bits.
	sizedTypes = " b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32 m8 M8 O8 "
	flexible   = "SUV" // bytes, text, void: of any size
	objectCode = 'O'
)

// classCodes are the codes of NumPy's classes, without those whose size depends on the
// machine.
const classCodes = " bool b1 bool_ b1 byte i1 int8 i1 ubyte u1 uint8 u1 short i2 int16 i2 ushort u2 uint16 u2 intc i4 int32 i4 uintc u4 uint32 u4 " +
	"longlong i8 int64 i8 ulonglong u8 uint64 u8 half f2 float16 f2 single f4 float32 f4 double f8 float64 f8 csingle c8 complex64 c8 " +
	"cdouble c16 complex128 c16 datetime64 M8 timedelta64 m8 bytes_ S0 str_ U0 record V0 "

// classCode returns the code of one of NumPy's classes, or "".
func classCode(name string) string {
	_, after, ok := strings.Cut(classCodes, " "+name+" ")
	if code, _, _ := strings.Cut(after, " "); ok {
		return code
	}
	return ""
}

// isCode reports whether a text names one type, as NumPy pickles it.
// NumPy accepts others, by a grammar of their own; T is text behind pointers.
func isCode(s string) bool {
	_, _, ok := typeCode(s)
	return ok
}

// typeCode parses "f8" or "U3": the size of an element, and the kind.
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
	return size, code, size < 1<<31
}

// codeSize returns the size of an element by the code of a dtype, such as "f8" or "U3",
// which cannot change.
func (m *matcher) codeSize(dtype ref) (size uint64, code byte, ok bool) {
	return m.sizeWith(dtype, m.g.state(dtype))
}

// sizeWith is codeSize for a dtype with a state, which has the size of a numpy.record.
func (m *matcher) sizeWith(dtype, state ref) (size uint64, code byte, ok bool) {
	text, ok := m.codeText(dtype)
	if !ok {
		return 0, 0, false
	}
	if size, code, ok = typeCode(text); text != recordCode || state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeSize {
		return size, code, ok
	}
	n, isInt := m.g.int64(m.arg(state, dtypeSize))
	return uint64(n), code, isInt && n >= 0 && n < 1<<31
}

// recordCode is that of numpy.record, whose size is in its state.
const recordCode = "V0"

// hasObjects reports whether the elements of a dtype refer to objects of Python.
func (m *matcher) hasObjects(dtype ref) bool {
	if _, code, ok := m.codeSize(dtype); ok && code == objectCode {
		return true
	}
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeFlag {
		return false
	}
	flags := m.flagsOf(m.arg(state, dtypeFlag))
	return flags&hasReferences != 0
}

// objectsFit reports whether data is a list with one object per element of an array; NumPy does not
// check its length. An element of a structure is a tuple of its fields.
func (m *matcher) objectsFit(dtype, data ref, count uint64) bool {
	if m.g.kind(data) != KindList || m.g.id(data) != NoID || uint64(m.g.node(data).n) != count {
		return false
	}
	size, code, _ := m.codeSize(dtype)
	if code == objectCode {
		return true
	}
	// The numbers and texts beside the objects are in the tuples, however long they are in
	// memory: 125,000,000 letters of a field for a tuple of one.
	if size > maxBeside {
		return false
	}
	names := m.arg(m.g.state(dtype), dtypeNames)
	return m.g.kind(names) == KindTuple && m.all(data, func(r ref) bool {
		return m.g.kind(r) == KindTuple && m.g.node(r).n == m.g.node(names).n
	})
}

// maxBeside bounds the bytes of one element of a structure that holds objects.
const maxBeside = 4 << 10

// isArray reports whether r is an array of numpy.ndarray itself.
func (m *matcher) isArray(r ref) bool {
	if m.g.kind(r) != KindObject {
		return false
	}
	switch m.g.id(r) {
	case NumpyFromBuffer:
		return true
	case NumpyReconstruct:
		return m.g.id(m.arg(m.g.elem(m.g.node(r).a+objArgs), 0)) == NumpyArray
	case JoblibArray:
		return m.isJoblibArray(r)
	}
	return false
}

// An arrayView is what is known of an array: its shape, its type and its bytes.
type arrayView struct {
	shape, dtype, data ref
}

// view returns the parts of an array. One that was given no state is empty.
func (m *matcher) view(r ref) (v arrayView, ok bool) {
	if !m.isArray(r) {
		return v, false
	}
	if m.g.id(r) == JoblibArray {
		return m.joblibView(r)
	}
	parts := m.g.elem(m.g.node(r).a + objArgs)
	if m.g.id(r) == NumpyFromBuffer {
		return arrayView{m.arg(parts, 2), m.arg(parts, 1), m.arg(parts, 0)}, true
	}
	state := m.g.state(r)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n < 4 {
		return v, false
	}
	n := m.g.node(state).n
	return arrayView{m.arg(state, n-4), m.arg(state, n-3), m.arg(state, n-1)}, m.g.kind(m.arg(state, n-4)) == KindTuple
}

// isArrayOf reports whether r is an array of one of the types, and of the dimensions, of a
// pattern. Its bytes have the order of a machine that counts from the lowest one.
func (m *matcher) isArrayOf(r ref, p *pattern) bool {
	v, ok := m.view(r)
	if !ok || p.num >= 0 && int64(m.g.node(v.shape).n) != p.num {
		return false
	}
	code, ok := m.codeText(v.dtype)
	return ok && strings.Contains(p.text, " "+code+" ") && !m.isBigEndian(v.dtype)
}

// codeText returns the code of a dtype, or that of a class.
func (m *matcher) codeText(dtype ref) (string, bool) {
	args := m.g.elem(m.g.node(dtype).a + objArgs)
	if m.g.kind(args) != KindTuple || !m.takes(rules[NumpyDType].call, args) {
		return "", false // a scan has refused the call
	}
	first := m.g.elem(m.g.node(args).a)
	if own := m.g.global(first); own != nil {
		return classCode(own.Name), true
	}
	return m.g.text(first), true
}

// isNewDType reports whether arguments of dtype make a new one: a code, not aligned, and
// copied. (Otherwise it is one of NumPy's own, which ignores a state.) NumPy before 1.20
// wrote the two flags as numbers.
func (m *matcher) isNewDType(args ref) bool {
	align, isFlag := m.flag(m.arg(args, 1))
	copied, isOther := m.flag(m.arg(args, 2))
	return isFlag && isOther && !align && copied
}

// flag reads False, True, 0 or 1.
func (m *matcher) flag(r ref) (value, ok bool) {
	if r == refFalse || r == refTrue {
		return r == refTrue, true
	}
	n, ok := m.g.int64(r)
	return n == 1, ok && (n == 0 || n == 1)
}

// mostElements is more than a pickle can hold.
const mostElements = 1 << 31

// elements returns the number of elements of an array with this shape.
func (m *matcher) elements(shape ref) (uint64, bool) {
	if m.g.kind(shape) != KindTuple {
		return 0, false
	}
	dims, product := m.g.node(shape), uint64(1)
	m.cost += int64(dims.n)
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

// maxRank is the maximum number of dimensions of a NumPy array.
const maxRank = 64

// isArrayState reports whether the state of an array, of the right types, has a version
// that NumPy reads, and a list where the elements are objects. A state of four parts has
// no version.
func (m *matcher) isArrayState(state ref) bool {
	n := m.g.node(state)
	version, _ := m.g.int64(m.g.elem(n.a))
	isList := m.g.kind(m.g.elem(n.a+n.n-1)) == KindList
	return (n.n == 4 || version == 0 || version == 1) && isList == m.hasObjects(m.g.elem(n.a+n.n-3))
}

// isFromBuffer reports whether arguments of _frombuffer make an array: elements with a
// size, and an order that picklers write. NumPy accepts other orders too.
func (m *matcher) isFromBuffer(args ref) bool {
	size, _, known := m.codeSize(m.arg(args, 1))
	if known && size == 0 || m.hasObjects(m.arg(args, 1)) {
		return false
	}
	order, axes := m.g.text(m.arg(args, 3)), m.g.node(args).n == 5
	if !axes {
		return order == "C" || order == "F"
	}
	return order == "K" && m.isPermutation(m.arg(args, 4), m.arg(args, 2))
}

// isPermutation reports whether axes has each axis of a shape once.
func (m *matcher) isPermutation(axes, shape ref) bool {
	if m.g.kind(axes) != KindTuple || m.g.kind(shape) != KindTuple || m.g.node(axes).n != m.g.node(shape).n {
		return false
	}
	var seen uint64
	n := m.g.node(axes).n
	for i := range min(n, maxRank) {
		axis, _ := m.g.int64(m.arg(axes, i))
		if axis < 0 || axis >= int64(n) || seen>>axis&1 != 0 {
			return false
		}
		seen |= 1 << axis
	}
	return n <= maxRank
}

// hasAllBytes checks that an array or a scalar has the number of bytes that its shape and
// type imply; parts is its state, or the arguments that make it.
func (m *machine) hasAllBytes(id ID, parts ref) error {
	n := m.g.node(parts)
	var data, dtype uint32
	shape := refEmpty
	switch {
	case id == NumpyScalar:
		dtype, data = n.a, n.a+1
	case id == NumpyFromBuffer:
		data, dtype, shape = n.a, n.a+1, m.g.elem(n.a+2)
	default: // a version may come first
		dtype, data, shape = n.a+n.n-3, n.a+n.n-1, m.g.elem(n.a+n.n-4)
	}
	count, ok := m.match.elements(shape)
	size, _, known := m.match.codeSize(m.g.elem(dtype))
	var full bool
	if known && id == NumpyReconstruct && m.match.hasObjects(m.g.elem(dtype)) {
		full = m.match.objectsFit(m.g.elem(dtype), m.g.elem(data), count)
	} else if known {
		bytes, all := m.match.bytesOf(m.g.elem(data))
		full = all && count*size == bytes && !m.match.isSubarrayType(m.g.elem(dtype)) && !m.match.hasObjects(m.g.elem(dtype))
		if full && !m.match.textsFit(m.g.elem(dtype), m.g.elem(data)) && m.settle() == nil {
			return m.strict(errNumpyText, "a text with a character, or a moment with a number, that NumPy does not have", refAbsent)
		}
	}
	if full && id != NumpyScalar && !m.match.isOwnMemory(m.g.elem(data)) {
		full = false
	}
	if err := m.settle(); err != nil {
		return err
	}
	if ok && (!known || full) {
		return nil // unknown, so it was refused
	}
	return m.strict(errNumpySize, "shape and type of an array ask for another number of bytes, or its memory is that of another", refAbsent)
}

// bytesOf returns the number of bytes in the data of an array. Data written by Python 2
// may be a text of characters below 256.
func (m *matcher) bytesOf(data ref) (n uint64, ok bool) {
	if kind := m.g.kind(data); kind != KindBytes && kind != KindText {
		return 0, false
	}
	if m.g.kind(data) == KindBytes {
		return uint64(m.g.node(data).n), true
	}
	s := m.g.text(data)
	m.cost += int64(len(s) / 16)
	return uint64(utf8.RuneCountInString(s)), isNarrow(s)
}

// isNarrow reports whether all characters are below 256.
func isNarrow(s string) bool {
	for _, r := range s {
		if r > 0xff {
			return false
		}
	}
	return true
}

// fromNumpy are the types that torch.from_numpy accepts.
const fromNumpy = " b1 u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 c8 c16 "

// copiedTypes are the types of tensors made from them.
const copiedTypes = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64 complex128"

// isForTorch reports whether torch.from_numpy accepts an array, which must have the byte
// order of the machine, and whether it can have the type to.
func (m *matcher) isForTorch(array, to ref) bool {
	parts, at := m.g.elem(m.g.node(array).a+objArgs), uint32(1)
	if !m.isArray(array) {
		return false
	}
	if m.g.id(array) == NumpyReconstruct {
		if parts = m.g.state(array); parts == refAbsent || m.g.kind(parts) != KindTuple {
			return false
		}
		at = m.g.node(parts).n - 3
	}
	if m.g.node(parts).n < 4 {
		return false // a scan has refused it
	}
	dtype := m.arg(parts, at)
	if m.g.kind(dtype) != KindObject || m.g.id(dtype) != NumpyDType {
		return false
	}
	code, ok := m.codeText(dtype)
	return ok && strings.Contains(fromNumpy, " "+code+" ") && !m.isBigEndian(dtype) && hasName(copiedTypes, m.g.global(to).Name)
}
