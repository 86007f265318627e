package vm

// The rules of scikit-learn's encoders, which make the indices of sparse matrices of numbers
// in their states.

// checkVocabulary asks that the column of every term is one of as many as there are terms.
func (m *machine) checkVocabulary(_ *class, target, state ref) bool {
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

// checkOneHot asks that an encoder has a column for each category, and none that are
// dropped or joined.
func (m *machine) checkOneHot(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	columns := m.valueAt(state, "_n_features_outs")
	if columns == refAbsent {
		return true
	}
	lists, drops, joins := m.valueAt(state, "categories_"), m.valueAt(state, "_drop_idx_after_grouping"), m.valueAt(state, "_infrequent_enabled")
	if m.g.kind(columns) != KindList || lists == refAbsent || m.g.kind(lists) != KindList || drops != refNone || joins != refFalse {
		return false
	}
	n, l := m.g.node(columns), m.g.node(lists)
	if n.n != l.n {
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
