package vm

import "strings"

// The rules of estimators of scikit-learn whose compiled code takes the sizes of one array
// for those of another.

// matrix returns the rows and columns of an array of one of the types, such as "f4/f8", that
// is stored row by row: scikit-learn's code takes no other.
func (m *matcher) matrix(r ref, types string) (rows, columns int64, ok bool) {
	if r == refAbsent || !m.isArrayOf(r, arrayOfTypes[types]) {
		return 0, 0, false
	}
	dims, ok := m.arrayDims(r)
	if !ok || len(dims) != 2 || !m.isRowMajor(r) {
		return 0, 0, false
	}
	return dims[0], dims[1], true
}

var arrayOfTypes = map[string]*pattern{
	"f4/f8": {op: arrayOf, text: " f4 f8 ", num: 2},
	"f8":    {op: arrayOf, text: " f8 ", num: 2},
	"f8.1":  {op: arrayOf, text: " f8 ", num: 1},
	"u4":    {op: arrayOf, text: " u4 ", num: 2},
	"u4.1":  {op: arrayOf, text: " u4 ", num: 1},
	"u1.1":  {op: arrayOf, text: " u1 ", num: 1},
	"i4.1":  {op: arrayOf, text: " i4 ", num: 1},
}

// isRowMajor reports whether an array is not stored by columns.
func (m *matcher) isRowMajor(r ref) bool {
	if m.g.id(r) == NumpyFromBuffer {
		return m.word(m.arg(m.argsOf(r), 3)) == "C"
	}
	state := m.g.state(r)
	if m.g.id(r) == JoblibArray {
		if m.g.kind(m.held(r)) != KindBytes {
			return m.isRowMajor(m.held(r))
		}
		return m.textAt(state, "order") == "C"
	}
	n := m.g.node(state).n
	return m.arg(state, n-2) == refFalse
}

// word returns a text, or "" for any other value.
func (m *matcher) word(r ref) string {
	if r == refAbsent || m.g.kind(r) != KindText {
		return ""
	}
	return m.g.text(r)
}

// vector returns the length of an array of one dimension, of one of the types.
func (m *matcher) vector(r ref, types string) (n int64, ok bool) {
	if r == refAbsent || !m.isArrayOf(r, arrayOfTypes[types]) {
		return 0, false
	}
	return m.length(r)
}

// checkCenters checks that the centers of clusters have as many columns as the estimator has
// features: sklearn/cluster/_k_means_lloyd.pyx multiplies them with the caller's rows.
func (m *matcher) checkCenters(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	centers := m.valueAt(state, "cluster_centers_")
	if centers == refAbsent {
		return true
	}
	rows, columns, ok := m.matrix(centers, "f4/f8")
	features, stated := m.g.int64(m.valueAt(state, "n_features_in_"))
	if !ok || !stated || rows < 1 || columns < 1 || columns != features {
		return false
	}
	if m.valueAt(state, "_n_threads") == refAbsent { // Python compares the columns of those without
		return true
	}
	threads, one := m.g.int64(m.valueAt(state, "_n_threads"))
	return one && threads > 0 && threads <= mostThreads
}

const mostThreads = 1024

// checkMachine compares the arrays of a support vector machine with each other, as libsvm
// does not: sklearn/svm/src/libsvm/libsvm_helper.c.
func (m *matcher) checkMachine(c *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	at := func(name string) ref { return m.valueAt(state, name) }
	if at("support_vectors_") == refAbsent {
		return m.unfitted(state, "_n_support", "_dual_coef_", "_intercept_", "_probA", "_probB")
	}
	vectors, columns, ok := m.matrix(at("support_vectors_"), "f8")
	features, stated := m.g.int64(at("n_features_in_"))
	indices, known := m.vector(at("support_"), "i4.1")
	classes, counted := m.vector(at("_n_support"), "i4.1")
	if !ok || !stated || !known || !counted || columns != features || columns < 1 || indices != vectors || classes < 2 || classes > mostOutputs {
		return false
	}
	rows, width, ok := m.matrix(at("_dual_coef_"), "f8")
	pairs := classes * (classes - 1) / 2
	offsets, known := m.vector(at("_intercept_"), "f8.1")
	if !ok || !known || rows != classes-1 || width != vectors || offsets != pairs {
		return false
	}
	return m.isLikely(state, pairs) && m.labelsFit(c, state, classes, vectors)
}

// isLikely reports whether a machine has the parts of probabilities that it says it has, and a
// kernel of its own.
func (m *matcher) isLikely(state ref, pairs int64) bool {
	want, likely := int64(0), m.valueAt(state, "_effective_probability")
	if likely == refAbsent { // before 1.8
		likely = m.valueAt(state, "probability")
	}
	if likely != refFalse {
		want = pairs
	}
	a, ok := m.vector(m.valueAt(state, "_probA"), "f8.1")
	b, known := m.vector(m.valueAt(state, "_probB"), "f8.1")
	return ok && known && a == b && a == want && hasWord(" linear rbf poly sigmoid ", m.word(m.valueAt(state, "kernel")))
}

// labelsFit reports whether a machine has a label and a weight for each class, and counts its
// support vectors by class.
func (m *matcher) labelsFit(c *class, state ref, classes, vectors int64) bool {
	if strings.HasSuffix(c.names[0], "SVR") || strings.HasSuffix(c.names[0], "OneClassSVM") { // they have two classes, and count none
		return classes == 2
	}
	if m.valueAt(state, "classes_") == refAbsent {
		return false
	}
	labels, ok := m.lengthOf(m.valueAt(state, "classes_"), 1)
	weights, known := m.vector(m.valueAt(state, "class_weight_"), "f8.1")
	sum := int64(0)
	if !m.integers(m.valueAt(state, "_n_support"), func(n int64) bool { sum += n; return n >= 0 && n <= vectors }) {
		return false
	}
	return ok && known && labels == classes && weights == classes && sum == vectors
}

// unfitted reports whether a state has none of these attributes.
func (m *matcher) unfitted(state ref, names ...string) bool {
	for _, name := range names {
		if m.valueAt(state, name) != refAbsent {
			return false
		}
	}
	return true
}

// checkIsotonic checks that the thresholds of a regression, which is interpolated when it is
// loaded, are as many in both directions.
func (m *matcher) checkIsotonic(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	x, y := m.valueAt(state, "X_thresholds_"), m.valueAt(state, "y_thresholds_")
	if x == refAbsent && y == refAbsent {
		return true
	}
	if x == refAbsent || y == refAbsent {
		return false
	}
	a, ok := m.length(x)
	b, known := m.length(y)
	return ok && known && a == b && a > 0 && hasWord(" nan clip raise ", m.word(m.valueAt(state, "out_of_bounds")))
}
