package vm

import "github.com/anamnesis-go/anamnesis/limits"

// The rules of frames. A manager has axes and blocks; a block has an array and the places
// of its columns. pandas joins them by tables that it makes without looking at the places.

// A blockPlace is a block as the state of a manager describes it. A dict describes it in the form that
// pandas brings to two dimensions itself.
type blockPlace struct {
	values, places ref
	dict           bool
}

const blockBy = "pandas._libs.internals._unpickle_block"

// checkBlock checks that an array has one column per place of its block.
func (m *matcher) checkBlock(_ *class, target, args ref) bool {
	if target != refAbsent {
		return false
	}
	ndim, ok := m.g.int64(m.arg(args, 2))
	return ok && m.areAlone(m.arg(args, 0), m.arg(args, 1)) && (ndim == 1 || ndim == 2) && m.blockFits(blockPlace{values: m.arg(args, 0), places: m.arg(args, 1)}, int(ndim), -1)
}

// blockFits reports whether the array of a block fits its places, and has the rows of the frame, if
// their number is known.
func (m *matcher) blockFits(b blockPlace, ndim int, rows int64) bool {
	dims, ok := m.dims(b.values)
	places, known := m.placesCount(b.places)
	if !ok || !known || len(dims) == 0 || len(dims) > ndim {
		return false
	}
	n := dims[len(dims)-1]
	switch {
	case ndim == 1:
		ok = places == n
	case len(dims) == 2:
		ok = places == dims[0] && m.isWide(b.values)
	default:
		ok = places == 1 && (b.dict && !m.isArray(b.values) || !m.isWide(b.values))
	}
	return ok && (rows < 0 || rows == n)
}

// isWide reports whether an array of a frame has a dimension for columns.
func (m *matcher) isWide(values ref) bool {
	if m.isArray(values) {
		return true
	}
	class, _, _, ok := m.backed(values)
	return ok && hasName("pandas.arrays.DatetimeArray pandas.arrays.TimedeltaArray pandas.arrays.PeriodArray", class)
}

// placesCount returns how many places there are.
func (m *matcher) placesCount(r ref) (int64, bool) {
	if m.isArray(r) {
		return m.length(r)
	}
	_, _, n, ok := m.sliceOf(r)
	return n, ok
}

// sliceOf returns the first place, the step and the number of places of a slice.
func (m *matcher) sliceOf(r ref) (start, step, n int64, ok bool) {
	if m.g.kind(r) != KindObject || m.g.id(r) != Slice {
		return 0, 0, 0, false
	}
	args := m.argsOf(r)
	if m.g.node(args).n != 3 {
		return 0, 0, 0, false
	}
	start, ok = m.g.int64(m.arg(args, 0))
	stop, stops := m.g.int64(m.arg(args, 1))
	step, steps := m.g.int64(m.arg(args, 2))
	if m.arg(args, 2) == refNone {
		step, steps = 1, true
	}
	if m.arg(args, 1) == refNone {
		stop, stops = -1, step < 0
	} else {
		stops = stops && stop >= 0
	}
	if !ok || !stops || !steps || start < 0 || start > mostElements || stop > mostElements || step == 0 || step > mostElements || step < -mostElements {
		return 0, 0, 0, false
	}
	switch {
	case step > 0 && stop > start:
		n = (stop-start-1)/step + 1
	case step < 0 && stop < start:
		n = (start-stop-1)/-step + 1
	}
	return start, step, n, true
}

// checkManager checks that the blocks of a manager have every column once.
func (m *matcher) checkManager(c *class, target, with ref) bool {
	if target == refAbsent {
		return m.g.node(with).n == 0 || m.blocksCover(m.arg(with, 0), m.arg(with, 1))
	}
	if m.g.node(m.argsOf(target)).n != 0 {
		return false // it has blocks
	}
	parts := m.valueAt(m.arg(with, 3), "0.14.1")
	return m.blocksCover(m.valueAt(parts, "blocks"), m.valueAt(parts, "axes"))
}

// blocksCover reports whether blocks fit axes. A block is the result of a call, or a dict.
func (m *matcher) blocksCover(blocks, axes ref) bool {
	ndim := int(m.g.node(axes).n)
	if ndim != 1 && ndim != 2 {
		return false
	}
	columns, ok := m.lengthOf(m.g.elem(m.g.node(axes).a), dimsDepth)
	rows, known := columns, ok
	if ndim == 2 {
		rows, known = m.lengthOf(m.g.elem(m.g.node(axes).a+1), dimsDepth)
	}
	if !ok || !known || !m.maySpan(columns) || !m.maySpan(rows) || ndim == 2 && !m.maySpan(rows*columns) {
		return false
	}
	sum := int64(0)
	fits := m.all(blocks, func(r ref) bool {
		b, made := m.blockOf(r, ndim)
		n, ok := m.placesCount(b.places)
		sum += n
		return made && ok && sum <= columns && m.blockFits(b, ndim, rows)
	})
	if !fits || sum != columns {
		return false
	}
	return ndim == 1 && m.g.node(blocks).n <= 1 || m.placesCover(blocks, ndim, columns)
}

// blockOf returns the parts of a block.
func (m *matcher) blockOf(r ref, ndim int) (blockPlace, bool) {
	if m.g.kind(r) == KindDict {
		b := blockPlace{m.valueAt(r, "values"), m.valueAt(r, "mgr_locs"), true}
		return b, b.values != refAbsent && b.places != refAbsent
	}
	if m.className(r) != blockBy {
		return blockPlace{}, false
	}
	args := m.argsOf(r)
	stated, _ := m.g.int64(m.arg(args, 2))
	return blockPlace{values: m.arg(args, 0), places: m.arg(args, 1)}, int(stated) == ndim
}

// placesCover reports whether blocks whose places are as many as the columns cover every column.
func (m *matcher) placesCover(blocks ref, ndim int, columns int64) bool {
	if m.cost += columns/8 + 1; columns > mostElements {
		return false
	}
	seen, err := limits.Make[uint64](m.tmp, int(columns/64)+1)
	if err != nil {
		m.broke = err
		return false
	}
	mark := func(at int64) bool {
		if at < 0 || at >= columns || seen[at/64]>>(at%64)&1 != 0 {
			return false
		}
		seen[at/64] |= 1 << (at % 64)
		return true
	}
	return m.all(blocks, func(r ref) bool {
		b, _ := m.blockOf(r, ndim)
		if m.isArray(b.places) {
			return m.integers(b.places, mark)
		}
		start, step, n, ok := m.sliceOf(b.places)
		for i := range n {
			ok = ok && mark(start+i*step)
		}
		return ok
	})
}

// checkFrame checks that a frame has two axes, and a series one.
func (m *matcher) checkFrame(c *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	manager, other := m.valueAt(state, "_mgr"), m.valueAt(state, "_data")
	if (manager == refAbsent) == (other == refAbsent) {
		return false
	}
	if manager == refAbsent {
		manager = other
	}
	single, kind, axes := c.names[0] == "pandas.Series", "dataframe", uint32(2)
	if single {
		kind, axes = "series", 1
	}
	if m.textAt(state, "_typ") != kind || single != (m.className(manager) == "pandas.core.internals.managers.SingleBlockManager") {
		return false
	}
	list := m.argOr(m.argsOf(manager), 1, refAbsent)
	if m.g.node(m.argsOf(manager)).n == 0 {
		given := m.g.state(manager)
		if given == refAbsent {
			return false
		}
		list = m.valueAt(m.valueAt(m.arg(given, 3), "0.14.1"), "axes")
	}
	return list != refAbsent && m.g.node(list).n == axes
}
