package vm

import (
	"math"
	"strings"
)

// The rules of pandas check what its compiled code takes for granted: it
// follows codes, places of blocks and points of sparse arrays without looking at them.

// checkBacked checks that the type of a pandas array describes its NumPy array: codes are inside of
// the categories, times have the unit.
func (m *matcher) checkBacked(c *class, target, with ref) bool {
	if target == refAbsent {
		return true
	}
	name := c.names[0]
	if name == backedBy || name == periodBy {
		name = m.g.global(m.arg(m.argsOf(target), 0)).class.names[0]
	}
	data, dtype, ok := m.backedState(with)
	if !ok {
		return false
	}
	v, ok := m.view(data)
	if !ok {
		return false
	}
	code, known := m.codeText(v.dtype)
	if !known || m.isBigEndian(v.dtype) {
		return false
	}
	switch name {
	case "pandas.Categorical":
		return m.areAlone(data) && m.codesFit(data, dtype)
	case "pandas.arrays.DatetimeArray":
		if m.className(dtype) == "pandas.DatetimeTZDtype" {
			return code == "M8" && m.unitOf(v.dtype) != "" && m.unitOf(v.dtype) == m.textOf(m.attrOf(dtype, "unit"))
		}
		return code == "M8" && m.sameUnit(v.dtype, dtype)
	case "pandas.arrays.TimedeltaArray":
		return code == "m8" && m.sameUnit(v.dtype, dtype)
	case "pandas.arrays.PeriodArray":
		return code == "i8" && m.className(dtype) == "pandas.PeriodDtype"
	case "pandas.arrays.StringArray":
		return code == "O8" && m.className(dtype) == "pandas.StringDtype"
	}
	return name == "pandas.arrays.NumpyExtensionArray"
}

// codesFit reports whether every code is -1 or the place of a category.
func (m *matcher) codesFit(codes, dtype ref) bool {
	if m.className(dtype) != "pandas.CategoricalDtype" {
		return false
	}
	n, ok := int64(0), true
	if categories := m.attrOf(dtype, "categories"); categories != refNone {
		n, ok = m.lengthOf(categories, dimsDepth)
	}
	dims, known := m.arrayDims(codes)
	return ok && known && len(dims) == 1 && m.integers(codes, func(i int64) bool { return i >= -1 && i < n })
}

func (m *matcher) textOf(r ref) string {
	if r == refAbsent || m.g.kind(r) != KindText && m.g.kind(r) != KindBytes {
		return ""
	}
	return m.g.text(r)
}

// unitOf returns the unit of a type of times, if it counts one of them.
func (m *matcher) unitOf(dtype ref) string {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeMeta {
		return ""
	}
	meta := m.arg(state, dtypeMeta)
	if m.g.kind(meta) != KindTuple || m.g.node(meta).n != 2 || m.g.kind(m.arg(meta, 1)) != KindTuple || m.g.node(m.arg(meta, 1)).n == 0 {
		return ""
	}
	if n, _ := m.g.int64(m.argOr(m.arg(meta, 1), 1, refNone)); n != 1 {
		return ""
	}
	return m.textOf(m.arg(m.arg(meta, 1), 0))
}

// sameUnit reports whether two types of NumPy are the same type of times.
func (m *matcher) sameUnit(a, b ref) bool {
	if m.g.kind(b) != KindObject || m.g.id(b) != NumpyDType || m.isBigEndian(b) {
		return false
	}
	x, _ := m.codeText(a)
	y, ok := m.codeText(b)
	unit := m.unitOf(a)
	return ok && x == y && unit != "" && unit == m.unitOf(b) && strings.Contains(" s ms us ns ", " "+unit+" ")
}

// checkMasks checks that an array has a mask of its shape, of bytes that are 0 or 1.
func (m *matcher) checkMasks(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	data, mask := m.valueAt(state, "_data"), m.valueAt(state, "_mask")
	a, ok := m.arrayDims(data)
	b, known := m.arrayDims(mask)
	if !ok || !known || len(a) < 1 || len(a) > 2 || len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	v, _ := m.view(data)
	code, _ := m.codeText(v.dtype)
	return m.areAlone(data, mask) && m.areBools(mask) && (code != "b1" || m.areBools(data))
}

// areBools reports whether the bytes of an array are 0 and 1.
func (m *matcher) areBools(array ref) bool {
	v, ok := m.view(array)
	if !ok || m.g.kind(v.data) != KindBytes {
		return false
	}
	text := m.g.text(v.data)
	m.cost += int64(len(text)/64) + 1
	for i := range len(text) {
		if text[i] > 1 {
			return false
		}
	}
	return true
}

// mostEnd bounds the ends of intervals: pandas adds two of them to find their middle, and
// searches a tree without end if the sum is wrong.
const mostEnd = 1 << 62

// checkEnds checks that no interval ends before it begins.
func (m *matcher) checkEnds(_ *class, target, with ref) bool {
	parts := m.inner0(with)
	if target == refAbsent {
		return true // it has no state yet
	}
	return m.endsFit(m.valueAt(parts, "_left"), m.valueAt(parts, "_right"))
}

func (m *matcher) endsFit(left, right ref) bool {
	a, ok := m.column(left, dimsDepth)
	b, known := m.column(right, dimsDepth)
	if !ok || !known || a.n != b.n || a.float != b.float {
		return false
	}
	m.cost += a.n/4 + 1
	for i := range a.n {
		if a.float {
			if x, y := a.real(i), b.real(i); math.IsNaN(x) != math.IsNaN(y) || x > y {
				return false
			}
			continue
		}
		x, y := a.int(i), b.int(i)
		if x == math.MinInt64 && y == x { // no time
			continue
		}
		if x > y || x <= -mostEnd || y >= mostEnd {
			return false
		}
	}
	return true
}

// checkPoints checks that the points of a sparse array ascend and are inside of it.
func (m *matcher) checkPoints(_ *class, target, args ref) bool {
	if target != refAbsent {
		return false
	}
	n, _ := m.g.int64(m.arg(args, 0))
	if _, isInt := m.g.int64(m.arg(args, 0)); !isInt || !m.maySpan(n) {
		return false
	}
	starts, last := m.arg(args, 1), int64(0)
	if m.g.node(args).n == 2 {
		last = -1
		return m.areAlone(starts) && m.integers(starts, func(i int64) bool {
			good := i > last && i < n
			last = i
			return good
		})
	}
	at, ok := m.column(starts, 1)
	long, known := m.column(m.arg(args, 2), 1)
	if !ok || !known || at.n != long.n || !m.areAlone(starts, m.arg(args, 2)) {
		return false
	}
	m.cost += at.n/4 + 1
	for i := range at.n {
		from, count := at.int(i), long.int(i)
		if from < last || count < 1 || from+count > n {
			return false
		}
		last = from + count
	}
	return true
}

// sparsePoints returns the length of a sparse array, and how many of its elements are in the
// pickle.
func (m *matcher) sparsePoints(index ref) (n, points int64, ok bool) {
	isBlocks := false
	switch m.className(index) {
	case "pandas._libs.sparse.IntIndex":
	case "pandas._libs.sparse.BlockIndex":
		isBlocks = true
	default:
		return 0, 0, false
	}
	args := m.argsOf(index)
	n, _ = m.g.int64(m.arg(args, 0))
	if !isBlocks {
		points, ok = m.length(m.arg(args, 1))
		return n, points, ok
	}
	ok = m.integers(m.arg(args, 2), func(i int64) bool {
		points += i
		return points <= mostElements
	})
	return n, points, ok
}

// checkSparseArray checks that a sparse array has a value for each point.
func (m *matcher) checkSparseArray(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	_, points, ok := m.sparsePoints(m.valueAt(state, "_sparse_index"))
	n, known := m.length(m.valueAt(state, "_sparse_values"))
	return ok && known && n == points && m.sameCode(m.attrOf(m.valueAt(state, "_dtype"), "_dtype"), m.valueAt(state, "_sparse_values")) && m.areAlone(m.valueAt(state, "_sparse_values")) && m.className(m.valueAt(state, "_dtype")) == "pandas.SparseDtype"
}

// sameCode reports whether an array has a type.
func (m *matcher) sameCode(dtype, array ref) bool {
	v, ok := m.view(array)
	if !ok || dtype == refAbsent || m.g.kind(dtype) != KindObject || m.g.id(dtype) != NumpyDType {
		return false
	}
	a, ok := m.codeText(v.dtype)
	b, known := m.codeText(dtype)
	return ok && known && a == b && m.unitOf(v.dtype) == m.unitOf(dtype)
}

// checkIndex checks that the length of an index is known, and that every code of a MultiIndex is -1
// or the position of a label of its level.
func (m *matcher) checkIndex(_ *class, target, args ref) bool {
	if target != refAbsent {
		return true
	}
	parts := m.arg(args, 1)
	if left := m.valueAt(parts, "left"); left != refAbsent {
		return m.endsFit(left, m.valueAt(parts, "right"))
	}
	n, ok := m.madeLength(parts, dimsDepth)
	codes := m.valueAt(parts, "codes")
	if !ok || codes == refAbsent {
		return ok
	}
	levels := m.valueAt(parts, "levels")
	count := m.g.node(levels).n
	if count == 0 || count > mostLevels || m.g.node(codes).n != count || m.g.node(m.valueAt(parts, "names")).n != count {
		return false
	}
	if order := m.valueAt(parts, "sortorder"); order != refNone {
		if at, isInt := m.g.int64(order); !isInt || at < 0 || at > int64(count) {
			return false
		}
	}
	for i := range count {
		size, ok := m.lengthOf(m.g.elem(m.g.node(levels).a+i), dimsDepth)
		one := m.g.elem(m.g.node(codes).a + i)
		long, known := m.length(one)
		if !ok || !known || long != n || !m.isPart(one, "codes") || !m.integers(one, func(at int64) bool { return at >= -1 && at < size }) {
			return false
		}
	}
	return true
}

// mostLevels bounds the levels of a MultiIndex.
const mostLevels = 1024

// checkUnit checks that a moment or a duration has one of the units that pandas has.
func (m *matcher) checkUnit(c *class, target, args ref) bool {
	at := uint32(3)
	if strings.HasSuffix(c.names[0], "_timedelta_unpickle") {
		at = 1
	}
	if target != refAbsent || m.g.node(args).n <= at {
		return target == refAbsent
	}
	unit, ok := m.g.int64(m.arg(args, at))
	return ok && unit >= 7 && unit <= 10 && m.g.isInt64(m.arg(args, 0)) // NumPy's numbers of s, ms, us, ns
}

// checkPeriod checks that the text of a type of periods names one.
func (m *matcher) checkPeriod(_ *class, target, args ref) bool {
	if target != refAbsent || m.g.node(args).n != 1 {
		return false
	}
	if m.g.kind(m.arg(args, 0)) != KindText {
		return m.isFrequency(m.arg(args, 0))
	}
	text, ok := strings.CutPrefix(m.g.text(m.arg(args, 0)), "period[")
	text, closed := strings.CutSuffix(text, "]")
	return ok && closed && isPeriodName(text)
}
