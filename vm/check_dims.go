package vm

import (
	"encoding/binary"
	"math"
	"strings"
)

// Lengths and bytes of what pandas keeps. Its code takes them for granted: that a mask is
// as long as the array, that an index is as long as the frame has rows. Whoever asks here
// gets a length only where the library, too, would find that many elements.

// longestRange bounds what needs no bytes: the rows of a RangeIndex, and the elements of a
// sparse array. Beyond it, a pickle has a byte for 64 of them.
const longestRange = 1 << 24

// maySpan reports whether a pickle may describe n elements without storing them.
func (m *matcher) maySpan(n int64) bool {
	return n >= 0 && n <= longestRange+64*int64(len(m.g.src))
}

// className returns what a call of one of the classes of sets gave, by the first name of the
// class. It is "" for everything else, and for what was refused.
func (m *matcher) className(r ref) string {
	if m.g.kind(r) != KindObject || m.g.node(r).flags&flagRefused != 0 {
		return ""
	}
	if own := m.g.global(r); own != nil && own.class != nil {
		return own.class.names[0]
	}
	return ""
}

// argsOf returns the arguments that made an object.
func (m *matcher) argsOf(r ref) ref { return m.g.elem(m.g.node(r).a + objArgs) }

// inner0 returns the dict in the state (dict,) that Cython's classes get.
func (m *matcher) inner0(state ref) ref {
	if state != refAbsent && m.g.kind(state) == KindTuple && m.g.node(state).n == 1 {
		return m.arg(state, 0)
	}
	return state
}

// attrOf returns an attribute in the state of an object, or refAbsent.
func (m *matcher) attrOf(r ref, name string) ref {
	state := m.inner0(m.g.state(r))
	if state == refAbsent || m.g.kind(state) != KindDict {
		return refAbsent
	}
	return m.valueAt(state, name)
}

// arrayDims returns the shape of a NumPy array.
func (m *matcher) arrayDims(r ref) ([]int64, bool) {
	v, ok := m.view(r)
	if !ok {
		return nil, false
	}
	dims, ok := m.g.ints(v.shape)
	for _, d := range dims {
		ok = ok && d >= 0 && d <= mostElements
	}
	return dims, ok
}

const (
	dimsDepth = 8 // arrays in indices in arrays
	backedBy  = "pandas._libs.arrays.__pyx_unpickle_NDArrayBacked"
	periodBy  = "pandas._libs.tslibs.period.__pyx_unpickle_PeriodMixin"
	endsBy    = "pandas._libs.interval.__pyx_unpickle_IntervalMixin"
)

// dims returns the shape of an array or an index of pandas, or of an array of NumPy.
func (m *matcher) dims(r ref) ([]int64, bool) { return m.dimsAt(r, dimsDepth) }

func (m *matcher) dimsAt(r ref, depth int) ([]int64, bool) {
	if m.cost++; r == refAbsent || depth == 0 {
		return nil, false
	}
	if m.isArray(r) {
		return m.arrayDims(r)
	}
	name := m.className(r)
	switch name {
	case "":
		return nil, false
	case endsBy, "pandas.arrays.IntervalArray":
		return m.dimsAt(m.attrOf(r, "_left"), depth-1)
	case "pandas.arrays.IntegerArray", "pandas.arrays.FloatingArray", "pandas.arrays.BooleanArray":
		return m.dimsAt(m.attrOf(r, "_data"), depth-1)
	case "pandas.arrays.SparseArray":
		n, _, ok := m.sparsePoints(m.attrOf(r, "_sparse_index"))
		return []int64{n}, ok
	case "pandas.arrays.ArrowStringArray", "pandas.core.arrays.string_arrow.ArrowStringArrayNumpySemantics", "pandas.arrays.ArrowExtensionArray":
		n, ok := m.arrowLength(r)
		return []int64{n}, ok
	}
	if _, data, _, ok := m.backed(r); ok {
		return m.arrayDims(data)
	}
	n, ok := m.indexLength(r, depth-1)
	return []int64{n}, ok
}

// lengthOf returns the length of what has one dimension.
func (m *matcher) lengthOf(r ref, depth int) (int64, bool) {
	dims, ok := m.dimsAt(r, depth)
	if !ok || len(dims) != 1 {
		return 0, false
	}
	return dims[0], true
}

// arrowLength returns the length of an array of PyArrow, or of its chunks.
func (m *matcher) arrowLength(r ref) (int64, bool) {
	data, other := m.attrOf(r, "_pa_array"), m.attrOf(r, "_data")
	if (data == refAbsent) == (other == refAbsent) {
		return 0, false
	}
	if data == refAbsent {
		data = other
	}
	one := func(r ref) int64 {
		n, _ := m.g.int64(m.arg(m.arg(m.argsOf(r), 0), 1)) // the rule arrow has bounded it
		return n
	}
	switch m.className(data) {
	case "pyarrow.lib._restore_array":
		return one(data), true
	case "pyarrow.lib.chunked_array":
		sum := int64(0)
		ok := m.all(m.arg(m.argsOf(data), 0), func(r ref) bool {
			sum += one(r)
			return sum <= mostElements
		})
		return sum, ok
	}
	return 0, false
}

// backed returns the class, the array and the type of a pandas array that is a NumPy array with a
// type of its own.
func (m *matcher) backed(r ref) (class string, data, dtype ref, ok bool) {
	switch class = m.className(r); class {
	case backedBy, periodBy:
		class = m.g.global(m.arg(m.argsOf(r), 0)).class.names[0]
	}
	data, dtype, ok = m.backedState(m.g.state(r))
	return class, data, dtype, ok && hasName(backedClasses, class)
}

// backedClasses are those whose state is an array and a type.
const backedClasses = "pandas.Categorical pandas.arrays.DatetimeArray pandas.arrays.TimedeltaArray pandas.arrays.PeriodArray pandas.arrays.StringArray pandas.arrays.NumpyExtensionArray"

// backedState returns the array and the type in the state of such an array.
func (m *matcher) backedState(state ref) (data, dtype ref, ok bool) {
	state = m.inner0(state)
	switch {
	case state == refAbsent:
		return refAbsent, refAbsent, false
	case m.g.kind(state) == KindTuple:
		if n := m.g.node(state).n; n != 2 && n != 3 {
			return refAbsent, refAbsent, false
		}
		dtype, data = m.arg(state, 0), m.arg(state, 1)
		return data, dtype, m.isArray(data)
	case m.g.kind(state) != KindDict:
		return refAbsent, refAbsent, false
	}
	found := 0
	data = refAbsent
	for _, name := range []string{"_ndarray", "_data", "_codes"} {
		if one := m.valueAt(state, name); one != refAbsent {
			data = one
			found++
		}
	}
	dtype = m.valueAt(state, "_dtype")
	return data, dtype, found == 1 && dtype != refAbsent && m.isArray(data)
}

// indexLength returns the length of an index by the arguments that made it.
func (m *matcher) indexLength(r ref, depth int) (int64, bool) {
	switch m.className(r) {
	case "pandas.core.indexes.base._new_Index", "pandas.core.indexes.datetimes._new_DatetimeIndex",
		"pandas.core.indexes.timedeltas._new_TimedeltaIndex", "pandas.core.indexes.interval._new_IntervalIndex":
		return m.madeLength(m.arg(m.argsOf(r), 1), depth)
	}
	return 0, false
}

func (m *matcher) madeLength(parts ref, depth int) (int64, bool) {
	if data := m.valueAt(parts, "data"); data != refAbsent {
		return m.lengthOf(data, depth)
	}
	if left := m.valueAt(parts, "left"); left != refAbsent {
		return m.lengthOf(left, depth)
	}
	if codes := m.valueAt(parts, "codes"); codes != refAbsent {
		if m.g.node(codes).n == 0 {
			return 0, false
		}
		return m.lengthOf(m.g.elem(m.g.node(codes).a), depth)
	}
	_, _, n, ok := m.rangeOf(parts)
	return n, ok
}

// rangeOf returns the first number, the step and the length of a RangeIndex.
func (m *matcher) rangeOf(parts ref) (start, step, n int64, ok bool) {
	number := func(name string, other int64) int64 {
		r := m.valueAt(parts, name)
		if r == refNone {
			return other
		}
		v, isInt := m.g.int64(r)
		ok = ok && isInt && v >= -1<<62 && v <= 1<<62
		return v
	}
	ok = true
	start, step = number("start", 0), number("step", 1)
	stop := number("stop", 0)
	if !ok || step == 0 {
		return 0, 0, 0, false
	}
	switch {
	case step > 0 && stop > start:
		n = int64((uint64(stop-start)-1)/uint64(step) + 1)
	case step < 0 && stop < start:
		n = int64((uint64(start-stop)-1)/(uint64(-(step+1))+1) + 1)
	}
	return start, step, n, m.maySpan(n)
}

// A column yields the elements of an array of numbers, as integers or as floats.
type column struct {
	n     int64
	float bool
	int   func(i int64) int64
	real  func(i int64) float64
}

// column returns the numbers of an index, or of an array of NumPy or pandas.
func (m *matcher) column(r ref, depth int) (c column, ok bool) {
	if m.cost++; r == refAbsent || depth == 0 {
		return c, false
	}
	if m.isArray(r) {
		return m.arrayColumn(r)
	}
	if _, data, _, ok := m.backed(r); ok {
		return m.arrayColumn(data)
	}
	if m.className(r) == "" {
		return c, false
	}
	if _, ok := m.indexLength(r, depth); !ok {
		return c, false
	}
	parts := m.arg(m.argsOf(r), 1)
	if data := m.valueAt(parts, "data"); data != refAbsent {
		return m.column(data, depth-1)
	}
	if m.valueAt(parts, "stop") == refAbsent {
		return c, false
	}
	start, step, n, ok := m.rangeOf(parts)
	return column{n: n, int: func(i int64) int64 { return start + i*step }}, ok
}

func (m *matcher) arrayColumn(r ref) (c column, ok bool) {
	v, ok := m.view(r)
	if !ok || m.isBigEndian(v.dtype) || m.g.kind(v.data) != KindBytes {
		return c, false
	}
	size, code, ok := m.codeSize(v.dtype)
	n, one := m.length(r)
	data := m.g.text(v.data)
	if !ok || !one || size == 0 || uint64(n)*size != uint64(len(data)) {
		return c, false
	}
	c.n = n
	switch {
	case code == 'f' && (size == 8 || size == 4):
		c.float = true
		c.real = func(i int64) float64 { return littleFloat(data[i*int64(size):], size) }
	case strings.IndexByte("imM", code) >= 0 && size <= 8:
		c.int = func(i int64) int64 { return littleInt(data, i, int64(size)) }
	case code == 'u' && size < 8:
		c.int = func(i int64) int64 { return littleInt(data, i, int64(size)) & (1<<(8*size) - 1) }
	case code == 'u' && size == 8:
		c.int = func(i int64) int64 { return int64(min(uint64(littleInt(data, i, 8)), math.MaxInt64)) }
	default:
		return c, false
	}
	return c, true
}

// littleFloat returns the float at the beginning of s.
func littleFloat(s string, size uint64) float64 {
	p := []byte(s[:size])
	if size == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(p))
}
