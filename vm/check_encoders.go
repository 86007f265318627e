package vm

import (
	"math"
	"strings"
)

// The rules of scikit-learn's encoders, which make the indices of sparse matrices of numbers
// in their states.

// checkVocabulary checks that the column of every term is below the number of terms.
func (m *matcher) checkVocabulary(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	terms := m.valueAt(state, "vocabulary_")
	if terms == refAbsent {
		return true
	}
	if m.g.kind(terms) != KindDict {
		return false
	}
	n := m.g.node(terms)
	for i := range n.n {
		m.cost++
		form := m.keyForm(m.g.elem(n.a + 2*i + 1))
		if form.kind != keyInt || form.a >= uint64(n.n) {
			return false
		}
	}
	return true
}

// checkOneHot checks that an encoder has a column for each category, and none that are
// dropped or joined.
func (m *matcher) checkOneHot(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	columns, lists := m.valueAt(state, "_n_features_outs"), m.valueAt(state, "categories_")
	drops, joins := m.valueAt(state, "_drop_idx_after_grouping"), m.valueAt(state, "_infrequent_enabled")
	if drops == refAbsent { // before 1.2
		drops = m.valueAt(state, "drop_idx_")
	}
	if columns == refAbsent && lists == refAbsent {
		return true
	}
	if lists == refAbsent || m.g.kind(lists) != KindList || drops != refNone {
		return false
	}
	if columns == refAbsent { // before 1.1, where the columns are those of the categories
		return m.sortedLists(lists)
	}
	if m.g.kind(columns) != KindList || joins != refFalse {
		return false
	}
	n, l := m.g.node(columns), m.g.node(lists)
	if n.n != l.n {
		return false
	}
	if !m.sortedLists(lists) {
		return false
	}
	for i := range n.n {
		count, ok := m.lengthOf(m.g.elem(l.a+i), 1)
		form := m.keyForm(m.g.elem(n.a + i))
		if m.cost++; !ok || form.kind != keyInt || int64(form.a) != count {
			return false
		}
	}
	return true
}

// checkCategories checks that categories ascend, because they are found by binary search.
func (m *matcher) checkCategories(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	lists := m.valueAt(state, "categories_")
	return lists == refAbsent || m.sortedLists(lists)
}

// checkEdges checks that the edges of bins ascend.
func (m *matcher) checkEdges(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	edges := m.valueAt(state, "bin_edges_")
	if edges == refAbsent {
		return true
	}
	v, ok := m.view(edges)
	return ok && m.g.kind(v.data) == KindList && m.sortedLists(v.data)
}

// sortedLists reports whether each of a list of arrays is of numbers that grow, or of
// texts or objects, which scikit-learn finds by their hash.
func (m *matcher) sortedLists(lists ref) bool {
	return m.g.kind(lists) == KindList && m.all(lists, func(r ref) bool {
		v, ok := m.view(r)
		if !ok {
			return false
		}
		size, code, ok := m.codeSize(v.dtype)
		if n, one := m.length(r); !ok || !one || n == 0 || strings.IndexByte("OUS", code) >= 0 {
			return ok && one
		}
		if code == 'b' && size == 1 {
			data := m.g.text(v.data)
			return m.g.kind(v.data) == KindBytes && len(data) <= 2 && data[0] <= 1 && (len(data) == 1 || data[0] < data[1] && data[1] == 1)
		}
		c, ok := m.column(r, 1)
		if !ok {
			return false
		}
		m.cost += c.n/8 + 1
		for i := int64(1); i < c.n; i++ {
			if c.float {
				if x, y := c.real(i-1), c.real(i); !(x < y) && (i != c.n-1 || math.IsNaN(x) || !math.IsNaN(y)) { // NaN comes last
					return false
				}
			} else if c.int(i-1) >= c.int(i) {
				return false
			}
		}
		return true
	})
}
