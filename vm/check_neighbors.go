package vm

import "strings"

// The rules of scikit-learn's neighbors, whose compiled code follows the nodes of a tree and
// the labels of points without looking at them: sklearn/neighbors/_binary_tree.pxi.tp,
// sklearn/metrics/_pairwise_distances_reduction.

// checkDistance checks that a metric has no weights: code reads one for each column.
func (m *machine) checkDistance(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	name := m.g.global(m.arg(m.argsOf(target), 0)).Name
	weights, ok := m.length(m.arg(state, 1))
	return ok && (weights == 0 || !strings.HasPrefix(name, "Minkowski"))
}

// Places in the state of a tree of neighbors.
const (
	pointsAt = iota
	orderAt
	nodesAt
	boundsAt
	_ // the size of a leaf
	levelsAt
	countAt
)

// checkNeighborTree checks that the nodes are a full binary tree in which each node halves the
// points of its parent, that all have bounds, and that the order names points.
func (m *machine) checkNeighborTree(_ *class, target, state ref) bool {
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

const metricAt = 11

// halves reports whether nodes are a full tree over the points.
func (m *machine) halves(nodes ref, count, points int64) bool {
	v, ok := m.view(nodes)
	n, one := m.length(nodes)
	if !ok || !one || n != count || m.g.kind(v.data) != KindBytes || !m.isNodeOfNeighbors(v.dtype) {
		return false
	}
	data := m.g.text(v.data)
	if int64(len(data)) != count*4*8 {
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

// isNodeOfNeighbors reports whether a type has the fields of a node, at their places.
func (m *machine) isNodeOfNeighbors(dtype ref) bool {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeFlag || m.arg(state, dtypeFields) == refNone {
		return false
	}
	fields := m.g.node(m.arg(state, dtypeFields))
	if size, _ := m.g.int64(m.arg(state, dtypeSize)); size != 4*8 || fields.n != 4 {
		return false
	}
	for i, want := range [...]string{"idx_start i8", "idx_end i8", "is_leaf i8", "radius f8"} {
		one := m.fieldType(fields, uint32(i))
		at, _, known := m.field(fields, uint32(i))
		text, _ := m.codeText(one)
		if m.cost++; !known || m.word(m.g.elem(fields.a+2*uint32(i)))+" "+text != want || at != uint64(8*i) || m.isBigEndian(one) {
			return false
		}
	}
	return true
}

// checkNeighbors checks that the points of an estimator have its number of features, and that
// a label of each is one of its classes.
func (m *machine) checkNeighbors(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	at := func(name string) ref { return m.valueAt(state, name) }
	if at("_fit_X") == refAbsent {
		return m.unfitted(state, "_tree", "_fit_method", "_y", "n_samples_fit_")
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
