package vm

import "strings"

// The rules of scikit-learn's neighbors, whose compiled code follows the nodes of a tree and
// the labels of points without looking at them: sklearn/neighbors/_binary_tree.pxi.tp,
// sklearn/metrics/_pairwise_distances_reduction.

// checkDistance checks that a metric has no weights: code reads one for each column.
func (m *matcher) checkDistance(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	name := m.g.global(m.arg(m.argsOf(target), 0)).Name
	weights, ok := m.length(m.arg(state, 1))
	return ok && (weights == 0 || !strings.HasPrefix(name, "Minkowski"))
}

// checkNeighborTree checks that the nodes are a full binary tree in which each node halves the
// points of its parent, that all have bounds, and that the order names points.
func (m *matcher) checkNeighborTree(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	points, columns, ok := m.matrix(m.arg(state, pointsAt), "f8")
	order, known := m.length(m.arg(state, orderAt))
	bounds, bounded := m.arrayDims(m.arg(state, boundsAt))
	if !ok || !known || !bounded || points < 1 || columns < 1 || order != points || !m.isRowMajor(m.arg(state, boundsAt)) {
		return false
	}
	levels, _ := m.g.int64(m.arg(state, levelsAt))
	count, _ := m.g.int64(m.arg(state, countAt))
	sides := int64(1)
	if strings.HasSuffix(m.g.global(target).Module, "_kd_tree") {
		sides = 2
	}
	if levels > 30 || count != 1<<levels-1 || bounds[0] != sides || bounds[1] != count || bounds[2] != columns {
		return false
	}
	if m.g.state(m.arg(state, metricAt)) == refAbsent || !m.areAlone(m.arg(state, orderAt), m.arg(state, nodesAt), m.arg(state, boundsAt)) {
		return false
	}
	return m.integers(m.arg(state, orderAt), func(i int64) bool { return i >= 0 && i < points }) && m.halves(m.arg(state, nodesAt), count, points)
}

// halves reports whether nodes are a full tree over the points.
func (m *matcher) halves(nodes ref, count, points int64) bool {
	v, ok := m.view(nodes)
	n, one := m.length(nodes)
	if !ok || !one || n != count || m.g.kind(v.data) != KindBytes || !m.hasFields(v.dtype, neighborFields, neighborNode) {
		return false
	}
	data := m.g.text(v.data)
	if int64(len(data)) != count*neighborNode {
		return false
	}
	m.cost += count/2 + 1
	at := func(i, k int64) int64 { return littleInt(data, 4*i+k, 8) }
	if at(0, 0) != 0 || at(0, 1) != points {
		return false
	}
	for i := range count {
		start, end := at(i, 0), at(i, 1)
		left, right := 2*i+1, 2*i+2
		isLeaf := int64(0)
		if left >= count {
			isLeaf = 1
		}
		if start > end || at(i, 2) != isLeaf {
			return false
		}
		if isLeaf == 0 && (at(left, 0) != start || at(left, 1) != at(right, 0) || at(right, 1) != end) {
			return false
		}
	}
	return true
}

// hasFields reports whether a type is a structure of these fields, one after the other.
func (m *matcher) hasFields(dtype ref, want string, size uint64) bool {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeFlag || m.arg(state, dtypeFields) == refNone {
		return false
	}
	fields, names := m.g.node(m.arg(state, dtypeFields)), strings.Fields(want)
	if own, _ := m.g.int64(m.arg(state, dtypeSize)); uint64(own) != size || int(fields.n) != len(names) {
		return false
	}
	next := uint64(0)
	for i, want := range names {
		one := m.fieldType(fields, uint32(i))
		at, _, known := m.field(fields, uint32(i))
		text, _ := m.codeText(one)
		if m.cost++; !known || m.word(m.g.elem(fields.a+2*uint32(i)))+":"+text != want || at != next || m.isBigEndian(one) {
			return false
		}
		next += uint64(text[len(text)-1] - '0')
	}
	return next == size
}

// checkNeighbors checks that the points of an estimator have its number of features, and that
// a label of each is one of its classes.
func (m *matcher) checkNeighbors(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	at := func(name string) ref { return m.valueAt(state, name) }
	if at("_fit_X") == refAbsent {
		return m.unfitted(state, "_tree", "_fit_method", "_y", "n_samples_fit_")
	}
	if !m.isPlainMetric(at("effective_metric_params_")) {
		return false
	}
	points, columns, ok := m.matrix(at("_fit_X"), "f4/f8")
	features, stated := m.g.int64(at("n_features_in_"))
	samples, counted := m.g.int64(at("n_samples_fit_"))
	if !ok || !stated || !counted || columns != features || samples != points || points < 1 {
		return false
	}
	if tree := at("_tree"); m.g.kind(tree) == KindObject {
		_, columns, _ := m.matrix(m.arg(m.g.state(tree), pointsAt), "f8")
		if points, _, ok := m.matrix(m.arg(m.g.state(tree), pointsAt), "f8"); !ok || points != samples || columns != features {
			return false
		}
	}
	if at("classes_") == refAbsent {
		return true
	}
	labels, ok := m.length(at("_y"))
	classes, known := m.lengthOf(at("classes_"), 1)
	return ok && known && labels == points && m.integers(at("_y"), func(i int64) bool { return i >= 0 && i < classes })
}

// isPlainMetric reports whether the arguments of a metric are at most the exponent of Minkowski's:
// compiled code reads arrays among them, such as norms of the points, for as many points as there are.
func (m *matcher) isPlainMetric(params ref) bool {
	if params == refAbsent || params == refNone {
		return true
	}
	n := m.g.node(params)
	if m.g.kind(params) != KindDict || n.n > 2 {
		return false
	}
	for i := range n.n {
		m.cost++
		key, value := m.word(m.g.elem(n.a+2*i)), m.g.elem(n.a+2*i+1)
		kind := m.keyForm(value).kind
		if !(key == "p" && (kind == keyInt || kind == keyFloat) || key == "w" && value == refNone) {
			return false
		}
	}
	return true
}
