package vm

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The rules of scikit-learn's trees, whose compiled code follows the children and the
// features of nodes without looking at them: sklearn/tree/_tree.pyx.

// nodeFields are the first fields of a node, and their places. Since 1.3 a byte follows
// that says where a missing value goes.
const (
	nodeFields = "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples"
	nodeTypes  = "i8 i8 i8 f8 f8 i8 f8"
	nodeByte   = "missing_go_to_left"
	leaf       = -1
	treeClass  = "sklearn.tree._tree.Tree"

	// Names of other classes that rules are about.
	treeRegressor   = "sklearn.tree._classes.DecisionTreeRegressor"
	dummyRegressor  = "sklearn.dummy.DummyRegressor"
	dummyClassifier = "sklearn.dummy.DummyClassifier"
	manyClasses     = "sklearn._loss.loss.HalfMultinomialLoss"
	treePredictor   = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"

	// A packed node of a TreePredictor: the places of its fields, and its size.
	histFields  = "value:f8 count:u4 feature_idx:i8 num_threshold:f8 missing_go_to_left:u1 left:u4 right:u4 gain:f8 depth:u4 is_leaf:u1 bin_threshold:u1 is_categorical:u1 bitset_idx:u4"
	histFeature = 12
	histLeft    = 29
	histRight   = 33
	histLeaf    = 49
	histSets    = 51
	histSet     = 52
	histNode    = 56
	bitsetWords = 8

	// A node of a tree of neighbors: its fields, and its size.
	neighborFields = "idx_start:i8 idx_end:i8 is_leaf:i8 radius:f8"
	neighborNode   = 32

	// Places in the state of such a tree.
	pointsAt, orderAt, nodesAt, boundsAt = 0, 1, 2, 3
	levelsAt, countAt, metricAt          = 5, 6, 11
)

// checkTree checks that the nodes are a tree in which every child comes after its node, so that a
// walk ends; that the tree is not deeper than it states, since scikit-learn allocates a path of
// that length; and that every feature exists.
func (m *matcher) checkTree(_ *class, target, with ref) bool {
	if target == refAbsent {
		features, ok := m.g.int64(m.arg(with, 0))
		outputs, known := m.g.int64(m.arg(with, 2))
		n, one := m.length(m.arg(with, 1))
		return ok && known && one && features >= 0 && features <= mostElements && outputs == n && n > 0 &&
			m.integers(m.arg(with, 1), func(i int64) bool { return i > 0 && i <= mostElements })
	}
	features, _ := m.g.int64(m.arg(m.argsOf(target), 0))
	outputs, _ := m.g.int64(m.arg(m.argsOf(target), 2))
	classes := int64(0)
	if !m.integers(m.arg(m.argsOf(target), 1), func(i int64) bool { classes = max(classes, i); return true }) {
		return false
	}
	count, _ := m.g.int64(m.valueAt(with, "node_count"))
	depth, _ := m.g.int64(m.valueAt(with, "max_depth"))
	values, ok := m.arrayDims(m.valueAt(with, "values"))
	if !ok || !m.isRowMajor(m.valueAt(with, "values")) || count < 1 || depth < 0 || depth > count || values[0] != count || values[1] != outputs || values[2] != classes {
		return false
	}
	if !m.nodesFit(m.valueAt(with, "nodes"), count, features, depth) {
		return false
	}
	if !m.areAlone(m.valueAt(with, "nodes"), m.valueAt(with, "values"), m.arg(m.argsOf(target), 1)) {
		return false
	}
	m.unbuilt--
	return true
}

func (m *matcher) nodesFit(nodes ref, count, features, depth int64) bool {
	v, ok := m.view(nodes)
	n, one := m.length(nodes)
	if !ok || !one || n != count || m.g.kind(v.data) != KindBytes {
		return false
	}
	width, ok := m.nodeWidth(v.dtype)
	data := m.g.text(v.data)
	if !ok || int64(len(data)) != count*width {
		return false
	}
	m.cost += count/8 + 1
	depths, err := limits.Make[int32](m.tmp, int(count)) // of the nodes, from 1; 0 is that of a node without a parent
	if err != nil {
		m.broke = err
		return false
	}
	defer m.tmp.Drop(4 * count)
	depths[0] = 1
	for i := range count {
		if depths[i] == 0 || int64(depths[i]) > depth+1 {
			return false
		}
		at := data[i*width:]
		left, right, feature := littleInt(at, 0, 8), littleInt(at, 1, 8), littleInt(at, 2, 8)
		if left == leaf && right == leaf {
			continue
		}
		if left <= i || left >= count || right <= i || right >= count || feature < 0 || feature >= features {
			return false
		}
		if left == right || depths[left] != 0 || depths[right] != 0 { // each has one parent
			return false
		}
		depths[left], depths[right] = depths[i]+1, depths[i]+1
	}
	return true
}

// nodeWidth returns the size of a node, if its fields are where scikit-learn has them.
func (m *matcher) nodeWidth(dtype ref) (width int64, ok bool) {
	state := m.g.state(dtype)
	if state == refAbsent || m.g.kind(state) != KindTuple || m.g.node(state).n <= dtypeFlag || m.arg(state, dtypeFields) == refNone {
		return 0, false
	}
	fields := m.g.node(m.arg(state, dtypeFields))
	names, types := nodeFields, nodeTypes
	if fields.n == 8 {
		names, types, width = names+" "+nodeByte, types+" u1", 8
	}
	i := uint32(0)
	for name := range strings.FieldsSeq(names) {
		var code string
		code, types, _ = strings.Cut(types, " ")
		if m.cost++; i >= fields.n || m.g.text(m.g.elem(fields.a+2*i)) != name {
			return 0, false
		}
		one := m.fieldType(fields, i)
		at, _, known := m.field(fields, i)
		text, _ := m.codeText(one)
		if !known || text != code || at != uint64(8*i) || m.isBigEndian(one) {
			return 0, false
		}
		i++
	}
	size, _ := m.g.int64(m.arg(state, dtypeSize))
	width += 7 * 8
	return width, i == fields.n && size == width
}

// checkTreeOf checks that a tree has as many features as the estimator, because only the estimator
// compares its number with the caller's data.
func (m *matcher) checkTreeOf(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	tree := m.valueAt(state, "tree_")
	if tree == refAbsent {
		return true
	}
	stated, ok := m.g.int64(m.valueAt(state, "n_features_in_"))
	features, known := m.g.int64(m.arg(m.argsOf(tree), 0))
	return ok && known && stated == features && m.g.state(tree) != refAbsent
}
