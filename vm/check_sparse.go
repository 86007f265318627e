package vm

import (
	"encoding/binary"
	"strings"
)

// littleInt returns the integer i of width 1, 2, 4 or 8 in bytes.
func littleInt(s string, i, width int64) int64 {
	p := []byte(s[i*width : i*width+width])
	switch width {
	case 1:
		return int64(int8(p[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(p)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(p)))
	}
	return int64(binary.LittleEndian.Uint64(p))
}

// integers calls check with each element of an array of signed integers, until it returns
// false.
func (m *matcher) integers(array ref, check func(int64) bool) bool {
	v, ok := m.view(array)
	if !ok {
		return false
	}
	size, code, ok := m.codeSize(v.dtype)
	data := m.g.text(v.data)
	if !ok || code != 'i' || m.g.kind(v.data) != KindBytes {
		return false
	}
	count := int64(len(data)) / int64(size)
	m.cost += count/8 + 1
	for i := range count {
		if !check(littleInt(data, i, int64(size))) {
			return false
		}
	}
	return true
}

// length returns the number of elements of an array of one dimension.
func (m *matcher) length(array ref) (int64, bool) {
	v, ok := m.view(array)
	if !ok || m.g.node(v.shape).n != 1 {
		return 0, false
	}
	return m.g.int64(m.arg(v.shape, 0))
}

// checkSparse compares the arrays of a sparse matrix with its shape.
func (m *matcher) checkSparse(c *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	shape, _ := m.g.ints(m.valueAt(state, "_shape"))
	for _, d := range shape {
		if d < 0 || !m.maySpan(d) { // SciPy makes arrays of that many elements
			return false
		}
	}
	kind, _, _ := strings.Cut(c.names[0][strings.LastIndexByte(c.names[0], '.')+1:], "_")
	if len(shape) != 2 && (len(shape) != 1 || kind != "csr" && kind != "coo") {
		return false
	}
	for _, name := range []string{"data", "indices", "indptr", "row", "col", "offsets", "rows"} {
		if !m.isPart(m.valueAt(state, name), alone) {
			return false
		}
	}
	if coords := m.valueAt(state, "coords"); coords != refAbsent && !m.all(coords, func(r ref) bool { return m.isPart(r, alone) }) {
		return false
	}
	switch kind {
	case "csr":
		return m.compressed(state, shape[0:len(shape)-1], shape[len(shape)-1])
	case "csc":
		return m.compressed(state, shape[1:], shape[0])
	case "bsr":
		return m.blocks(state, shape)
	case "coo":
		return m.coordinates(state, shape)
	case "dia":
		return m.diagonals(state, shape)
	case "lil":
		return m.isNumberType(m.valueAt(state, "dtype")) && m.rowLists(state, shape)
	}
	return m.isNumberType(m.valueAt(state, "dtype")) && m.cells(m.valueAt(state, "_dict"), shape) && m.cells(m.g.attrs[uint32(target)].extra, shape)
}

// isNumberType reports whether a type is one of numbers.
func (m *matcher) isNumberType(dtype ref) bool {
	_, code, ok := m.codeSize(dtype)
	return ok && strings.IndexByte("biufc", code) >= 0
}

// ints returns the elements of a tuple or list of few integers.
func (g *Graph) ints(r ref) (list []int64, ok bool) {
	if k := g.kind(r); k != KindTuple && k != KindList {
		return nil, false
	}
	n := g.node(r)
	for i := range min(n.n, maxRank) {
		v, ok := g.int64(g.elem(n.a + i))
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, n.n <= maxRank
}

// compressed checks rows, one more pointer than there are rows, each not before the last,
// and indices below width. There are as many values as indices.
func (m *matcher) compressed(state ref, rows []int64, width int64) bool {
	count := int64(1)
	if len(rows) > 0 {
		count = rows[0]
	}
	return m.pointers(state, count, width) && m.sameLength(m.valueAt(state, "data"), m.valueAt(state, "indices"))
}

func (m *matcher) pointers(state ref, rows, width int64) bool {
	pointers, indices := m.valueAt(state, "indptr"), m.valueAt(state, "indices")
	n, ok := m.length(pointers)
	size, known := m.length(indices)
	if !ok || !known || n != rows+1 {
		return false
	}
	last, first := int64(0), true
	ok = m.integers(pointers, func(i int64) bool {
		good := i >= last && i <= size && (!first || i == 0)
		last, first = i, false
		return good
	})
	return ok && m.integers(indices, func(i int64) bool { return i >= 0 && i < width }) && m.sorted(state, pointers, indices)
}

// sorted reports whether the indices of each row grow if the state says that they do:
// SciPy asks no other question.
func (m *matcher) sorted(state, pointers, indices ref) bool {
	says := func(names ...string) bool {
		for _, name := range names {
			r := m.valueAt(state, name)
			if r == refAbsent {
				continue
			}
			if form := m.keyForm(r); form.kind != keyInt || form.a != 0 {
				return true
			}
		}
		return false
	}
	once := says("_has_canonical_format", "has_canonical_format")
	if !once && !says("_has_sorted_indices", "has_sorted_indices") {
		return true
	}
	from, ok := m.column(pointers, 1)
	at, known := m.column(indices, 1)
	if !ok || !known {
		return false
	}
	m.cost += at.n/8 + from.n/8 + 1
	for row := range from.n - 1 {
		for i := from.int(row) + 1; i < from.int(row+1); i++ {
			if before, now := at.int(i-1), at.int(i); now < before || once && now == before {
				return false
			}
		}
	}
	return true
}

func (m *matcher) sameLength(a, b ref) bool {
	x, ok := m.length(a)
	y, known := m.length(b)
	return ok && known && x == y
}

// blocks checks a matrix of blocks, whose data has the shape (blocks, rows, columns).
func (m *matcher) blocks(state ref, shape []int64) bool {
	v, ok := m.view(m.valueAt(state, "data"))
	if !ok {
		return false
	}
	dims, ok := m.g.ints(v.shape)
	count, known := m.length(m.valueAt(state, "indices"))
	if !ok || !known || len(dims) != 3 || dims[0] != count || dims[1] < 1 || dims[2] < 1 || shape[0]%dims[1] != 0 || shape[1]%dims[2] != 0 {
		return false
	}
	return m.pointers(state, shape[0]/dims[1], shape[1]/dims[2])
}

// coordinates checks a matrix of single cells.
func (m *matcher) coordinates(state ref, shape []int64) bool {
	axes := []ref{m.valueAt(state, "row"), m.valueAt(state, "col")}
	if coords := m.valueAt(state, "coords"); coords != refAbsent {
		if axes[0] != refAbsent || axes[1] != refAbsent || int(m.g.node(coords).n) != len(shape) {
			return false
		}
		for i := range axes {
			axes[i] = m.argOr(coords, uint32(i), refAbsent)
		}
	}
	for i := range shape {
		limit := shape[i]
		if axes[i] == refAbsent || !m.sameLength(axes[i], m.valueAt(state, "data")) ||
			!m.integers(axes[i], func(n int64) bool { return n >= 0 && n < limit }) {
			return false
		}
	}
	return true
}

// diagonals checks that there is an offset for each diagonal, inside of the matrix.
func (m *matcher) diagonals(state ref, shape []int64) bool {
	dims, ok := m.arrayDims(m.valueAt(state, "data"))
	n, known := m.length(m.valueAt(state, "offsets"))
	return ok && known && len(dims) == 2 && dims[0] == n && m.integers(m.valueAt(state, "offsets"), func(at int64) bool {
		return at > -max(shape[0], 1) && at < max(shape[1], 1)
	})
}

// cells checks the cells of a matrix that is a dict: {(row, column): value}.
func (m *matcher) cells(dict ref, shape []int64) bool {
	if dict == refAbsent {
		return true
	}
	n := m.g.node(dict)
	for i := range n.n {
		m.cost++
		at, ok := m.cell(m.g.elem(n.a + 2*i))
		if !ok || at[0] < 0 || at[0] >= shape[0] || at[1] < 0 || at[1] >= shape[1] {
			return false
		}
	}
	return true
}

// cell returns the place of a cell, in integers of Python or NumPy.
func (m *matcher) cell(key ref) (at [2]int64, ok bool) {
	if m.g.kind(key) != KindTuple || m.g.node(key).n != 2 {
		return at, false
	}
	for i := range at {
		form := m.keyForm(m.arg(key, uint32(i)))
		if form.kind != keyInt {
			return at, false
		}
		at[i] = int64(form.a)
	}
	return at, true
}

// rowLists checks a matrix of lists: the columns of each row, growing, and their values.
func (m *matcher) rowLists(state ref, shape []int64) bool {
	rows, ok := m.view(m.valueAt(state, "rows"))
	data, known := m.view(m.valueAt(state, "data"))
	if !ok || !known || m.g.kind(rows.data) != KindList || m.g.kind(data.data) != KindList {
		return false
	}
	a, b := m.g.node(rows.data), m.g.node(data.data)
	if int64(a.n) != shape[0] || a.n != b.n {
		return false
	}
	for i := range a.n {
		columns, values := m.g.elem(a.a+i), m.g.elem(b.a+i)
		if m.g.kind(columns) != KindList || m.g.kind(values) != KindList || m.g.node(columns).n != m.g.node(values).n {
			return false
		}
		last := int64(-1)
		if m.cost++; !m.all(columns, func(r ref) bool {
			n, ok := m.g.int64(r)
			good := ok && n > last && n < shape[1]
			last = n
			return good
		}) || !m.all(values, m.isNumeric) {
			return false
		}
	}
	return true
}
