package vm

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The rules of scikit-learn's gradient boosting, whose compiled code follows nodes and writes a
// column for each tree of a stage: sklearn/ensemble/_gradient_boosting.pyx and
// sklearn/ensemble/_hist_gradient_boosting/_predictor.pyx.

// instanceOf returns the first name of the class of an instance, or "".
func (m *matcher) instanceOf(r ref) string {
	if r == refAbsent {
		return ""
	}
	return m.className(r)
}

// isNumber reports whether an attribute is this integer.
func (m *matcher) isNumber(r ref, want int64) bool {
	if r == refAbsent {
		return false
	}
	form := m.keyForm(r) // a number of Python or of NumPy
	return form.kind == keyInt && want >= 0 && form.a == uint64(want)
}

// checkStages checks that every tree of gradient boosting is one of the same features, and that
// each stage has a tree for each column that the first prediction has.
func (m *matcher) checkStages(c *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	stages := m.valueAt(state, "estimators_")
	if stages == refAbsent {
		return m.unfitted(state, "init_", "n_trees_per_iteration_")
	}
	dims, ok := m.arrayDims(stages)
	features, stated := m.g.int64(m.valueAt(state, "n_features_in_"))
	if !ok || !stated || len(dims) != 2 || dims[0] < 1 || dims[1] < 1 || !m.isNumber(m.valueAt(state, "n_trees_per_iteration_"), dims[1]) {
		return false
	}
	v, _ := m.view(stages)
	if m.g.kind(v.data) != KindList || int64(m.g.node(v.data).n) != dims[0]*dims[1] {
		return false
	}
	// A regressor has one column, whatever its loss and its first prediction say.
	classifies := strings.HasSuffix(c.names[0], "Classifier")
	if !classifies && (dims[1] != 1 || m.instanceOf(m.valueAt(state, "init_")) == dummyClassifier) || classifies && m.instanceOf(m.valueAt(state, "init_")) == dummyRegressor {
		return false
	}
	return m.beginsWith(state, dims[1]) && m.all(v.data, func(one ref) bool {
		return m.instanceOf(one) == treeRegressor && m.attrOf(one, "tree_") != refAbsent && m.isNumber(m.attrOf(one, "n_features_in_"), features)
	})
}

// beginsWith reports whether the first prediction of gradient boosting has this many columns.
func (m *matcher) beginsWith(state ref, columns int64) bool {
	loss := m.instanceOf(m.valueAt(state, "_loss"))
	if loss == "" || (loss == manyClasses) != (columns > 1) {
		return false
	}
	first := m.valueAt(state, "init_")
	if m.word(first) == "zero" {
		return true
	}
	switch m.instanceOf(first) {
	case dummyRegressor:
		constant := m.attrOf(first, "constant_")
		if constant == refAbsent || columns != 1 || !m.isNumber(m.attrOf(first, "n_outputs_"), 1) {
			return false
		}
		dims, ok := m.arrayDims(constant)
		return ok && len(dims) == 2 && dims[0] == 1 && dims[1] == 1
	case dummyClassifier:
		classes := max(columns, 2)
		prior := m.attrOf(first, "class_prior_")
		if prior == refAbsent {
			return false
		}
		n, ok := m.vector(prior, "f8.1")
		return ok && n == classes && m.isNumber(m.attrOf(first, "n_classes_"), classes) && m.isNumber(m.attrOf(first, "n_outputs_"), 1) && m.word(m.attrOf(first, "_strategy")) == "prior"
	}
	return false
}

// checkPredictor checks that nodes are a tree in which every child comes after its parent, and
// that sets of categories exist.
func (m *matcher) checkPredictor(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	nodes, sets := m.valueAt(state, "nodes"), m.valueAt(state, "raw_left_cat_bitsets")
	count, words, ok := m.matrix(sets, "u4")
	data, known := m.histNodes(nodes)
	if !ok || !known || words != bitsetWords || !m.areAlone(nodes, sets) {
		return false
	}
	n := int64(len(data) / histNode)
	m.cost += n/8 + 1
	seen, err := limits.Make[bool](m.tmp, int(n)) // which nodes have a parent
	if err != nil {
		m.broke = err
		return false
	}
	defer m.tmp.Drop(n)
	seen[0] = true
	for i := range n {
		node := data[i*histNode:][:histNode]
		if !seen[i] || node[histLeaf] > 1 || node[histSets] > 1 {
			return false
		}
		if node[histLeaf] == 1 {
			continue
		}
		if node[histSets] == 1 && natural4(node[histSet:]) >= count {
			return false
		}
		for _, child := range [...]int64{natural4(node[histLeft:]), natural4(node[histRight:])} {
			if child <= i || child >= n || seen[child] {
				return false
			}
			seen[child] = true
		}
	}
	return true
}

// natural4 returns four bytes as a number.
func natural4(s string) int64 {
	return littleInt(s[:4], 0, 4) & (1<<32 - 1)
}

// histNodes returns the bytes of nodes that have the type of a TreePredictor's.
func (m *matcher) histNodes(nodes ref) (string, bool) {
	if nodes == refAbsent {
		return "", false
	}
	v, ok := m.view(nodes)
	n, one := m.length(nodes)
	if !ok || !one || n < 1 || m.g.kind(v.data) != KindBytes || !m.hasFields(v.dtype, histFields, histNode) {
		return "", false
	}
	data := m.g.text(v.data)
	return data, int64(len(data)) == n*histNode
}

// checkPredictors checks that all features of the trees of histogram gradient boosting exist, and
// that those which a tree takes for categories have some.
func (m *matcher) checkPredictors(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	stages, mapper := m.valueAt(state, "_predictors"), m.valueAt(state, "_bin_mapper")
	if stages == refAbsent {
		return true
	}
	features, ok := m.g.int64(m.valueAt(state, "n_features_in_"))
	if !ok || mapper == refAbsent || m.g.kind(stages) != KindList || m.valueAt(state, "_preprocessor") == refAbsent {
		return false
	}
	flags := m.attrOf(mapper, "is_categorical_")
	n, ok := m.vector(flags, "u1.1")
	v, known := m.view(flags)
	if !ok || !known || n != features || m.g.kind(v.data) != KindBytes {
		return false
	}
	sets := m.g.text(v.data)
	return m.all(stages, func(stage ref) bool {
		return m.g.kind(stage) == KindList && m.all(stage, func(one ref) bool {
			return m.instanceOf(one) == treePredictor && m.splitsOn(m.attrOf(one, "nodes"), sets)
		})
	})
}

// splitsOn reports whether nodes ask for features that there are, and for categories where sets
// has a flag.
func (m *matcher) splitsOn(nodes ref, sets string) bool {
	data, ok := m.histNodes(nodes)
	if !ok {
		return false
	}
	m.cost += int64(len(data)/histNode/8) + 1
	for ; data != ""; data = data[histNode:] {
		if data[histLeaf] == 1 {
			continue
		}
		feature := littleInt(data[histFeature:][:8], 0, 8)
		if feature < 0 || feature >= int64(len(sets)) || data[histSets] == 1 && sets[feature] != 1 {
			return false
		}
	}
	return true
}

// checkBins checks that a mapper has the same features everywhere.
func (m *matcher) checkBins(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	edges := m.valueAt(state, "bin_thresholds_")
	if edges == refAbsent {
		return m.unfitted(state, "is_categorical_", "n_bins_non_missing_")
	}
	flags, ok := m.vector(m.valueAt(state, "is_categorical_"), "u1.1")
	bins, known := m.vector(m.valueAt(state, "n_bins_non_missing_"), "u4.1")
	return ok && known && flags == bins && m.g.kind(edges) == KindList && int64(m.g.node(edges).n) == flags && m.all(edges, func(r ref) bool {
		_, ok := m.vector(r, "f8.1")
		return ok
	})
}
