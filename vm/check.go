package vm

import "strings"

// A check is a rule about a class that no pattern can say: one about the bytes of arrays,
// mostly, because libraries follow indices and offsets without looking at them. It is
// asked after the pattern: about the arguments of a call, target is then refAbsent, or
// about the state of target.
type check func(m *matcher, c *class, target, with ref) bool

// checks are the rules by the names that they have in a set.
var checks = map[string]check{
	"masked":     (*matcher).checkMasked,
	"generator":  (*matcher).checkGenerator,
	"zone":       (*matcher).checkZone,
	"alias":      (*matcher).checkAlias,
	"arrow":      (*matcher).checkArrow,
	"sparse":     (*matcher).checkSparse,
	"backed":     (*matcher).checkBacked,
	"masks":      (*matcher).checkMasks,
	"ends":       (*matcher).checkEnds,
	"points":     (*matcher).checkPoints,
	"sparray":    (*matcher).checkSparseArray,
	"index":      (*matcher).checkIndex,
	"unit":       (*matcher).checkUnit,
	"period":     (*matcher).checkPeriod,
	"block":      (*matcher).checkBlock,
	"manager":    (*matcher).checkManager,
	"frame":      (*matcher).checkFrame,
	"tree":       (*matcher).checkTree,
	"vocabulary": (*matcher).checkVocabulary,
	"onehot":     (*matcher).checkOneHot,
	"categories": (*matcher).checkCategories,
	"edges":      (*matcher).checkEdges,
	"treeof":     (*matcher).checkTreeOf,
	"centers":    (*matcher).checkCenters,
	"machine":    (*matcher).checkMachine,
	"isotonic":   (*matcher).checkIsotonic,
	"neighbors":  (*matcher).checkNeighbors,
	"distance":   (*matcher).checkDistance,
	"stages":     (*matcher).checkStages,
	"predictor":  (*matcher).checkPredictor,
	"predictors": (*matcher).checkPredictors,
	"bins":       (*matcher).checkBins,

	"neighbortree": (*matcher).checkNeighborTree,
	"ratio":        (*matcher).checkRatio,
	"uuid":         (*matcher).checkUUID,
	"seeds":        (*matcher).checkSeeds,
	"interval":     (*matcher).checkInterval,
	"duration":     (*matcher).checkDuration,
	"lightgbm":     (*matcher).checkBooster,
	"ordinal":      (*matcher).checkOrdinal,
	"xgboost":      (*matcher).checkXGBoost,
}

// maxRatio bounds the digits of the parts of a fraction, which are brought to their lowest
// terms when it is loaded: that takes time by the square of their number. It is the bound that
// Python has for integers in texts.
const maxRatio = 4300

// isRatio reports whether a fraction writes a text. Others are read as well, among them
// numbers with an exponent, which has no bound.
func isRatio(s string) bool {
	above, below, two := strings.Cut(strings.TrimPrefix(s, "-"), "/")
	return isPart(above) && (!two || isPart(below) && strings.Trim(below, "0") != "")
}

func isPart(s string) bool {
	return isDigits(s) && len(s) <= maxRatio
}

// checkRatio compares what a fraction is made of with what fractions write.
func (m *matcher) checkRatio(_ *class, target, args ref) bool {
	if target != refAbsent {
		return true
	}
	for i := range m.g.node(args).n {
		switch part := m.arg(args, i); m.g.kind(part) {
		case KindText:
			if !isRatio(m.g.text(part)) {
				return false
			}
		case KindInt:
			big := (Value{m.g, part}).Big()
			if big == nil || big.BitLen() > maxRatio*4 || i == 1 && big.Sign() == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// checkMasked compares the bytes of a masked array and of its mask, which has a byte for
// each number, with the shape.
func (m *matcher) checkMasked(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	part := func(i uint32) ref { return m.arg(state, i) }
	version, _ := m.g.int64(part(0))
	count, ok := m.elements(part(1))
	if !ok || version != 0 && version != 1 {
		return false
	}
	dtype, data := part(2), part(4)
	size, _, ok := m.codeSize(dtype)
	if !ok || m.isSubarrayType(dtype) {
		return false
	}
	if m.hasObjects(dtype) {
		ok = m.objectsFit(dtype, data, count)
	} else {
		bytes, all := m.bytesOf(data)
		ok = all && count*size == bytes
	}
	marks, all := m.bytesOf(part(5))
	flags, known := m.maskSize(dtype, maxMaskDepth)
	return ok && all && known && marks == count*flags && m.textsFit(dtype, data) && m.isOwnMemory(data) && m.isOwnMemory(part(5))
}

// maxMaskDepth bounds structures in structures.
const maxMaskDepth = 8

// maskSize returns the bytes of a mask for one element: one for each field.
func (m *matcher) maskSize(dtype ref, depth int) (uint64, bool) {
	m.cost++
	state := m.g.state(dtype)
	if state == refAbsent || m.arg(state, dtypeFields) == refNone {
		if state != refAbsent && m.arg(state, dtypeSubarray) != refNone {
			sub := m.arg(state, dtypeSubarray)
			n, ok := m.elements(m.arg(sub, 1))
			one, known := m.maskSize(m.arg(sub, 0), depth-1)
			return n * one, ok && known && one < mostElements
		}
		return 1, true
	}
	if depth == 0 {
		return 0, false
	}
	fields, total := m.g.node(m.arg(state, dtypeFields)), uint64(0)
	for i := range fields.n {
		if m.g.node(m.g.elem(fields.a+2*i+1)).n == 3 { // a title names a field again
			return 0, false
		}
		one, ok := m.maskSize(m.fieldType(fields, i), depth-1)
		if total += one; !ok || total > mostElements {
			return 0, false
		}
	}
	return total, true
}

// generatorSizes are the lengths of the arrays in the states of random generators, which
// NumPy copies without asking.
var generatorSizes = map[string]int64{"key": 624, "counter": 4, "buffer": 4, "state": 4}

// checkGenerator compares the lengths of the arrays of a state with what the generator
// has, and positions in them.
func (m *matcher) checkGenerator(_ *class, target, state ref) bool {
	if target == refAbsent {
		return true
	}
	if m.g.kind(state) == KindTuple {
		if first := m.arg(state, 0); m.g.kind(first) == KindText { // of RandomState before NumPy 1.14
			at, _ := m.g.int64(m.arg(state, 2))
			return m.hasLength(m.arg(state, 1), generatorSizes["key"]) && at >= 0 && at <= generatorSizes["key"]
		}
		state = m.arg(state, 0)
	}
	philox := m.textAt(state, "bit_generator") == "Philox"
	return m.generatorState(state, philox) && m.generatorState(m.valueAt(state, "state"), philox)
}

func (m *matcher) generatorState(dict ref, philox bool) bool {
	if m.g.kind(dict) != KindDict {
		return true // the numbers of PCG64
	}
	n := m.g.node(dict)
	for i := range n.n {
		m.cost++
		name, value := m.g.text(m.g.elem(n.a+2*i)), m.g.elem(n.a+2*i+1)
		want := generatorSizes[name]
		if philox && name == "key" {
			want = 2
		}
		at, isInt := m.g.int64(value)
		switch {
		case m.isArray(value) && !m.hasLength(value, want),
			name == "pos" && (at < 0 || at > generatorSizes["key"]),
			name == "buffer_pos" && (at < 0 || at > generatorSizes["buffer"]),
			isInt && at < 0, m.g.kind(value) == KindInt && !isInt && name != "state" && name != "inc":
			return false
		}
	}
	return true
}

// hasLength reports whether an array has one dimension of this length.
func (m *matcher) hasLength(array ref, n int64) bool {
	v, ok := m.view(array)
	if !ok || m.g.node(v.shape).n != 1 {
		return false
	}
	d, _ := m.g.int64(m.arg(v.shape, 0))
	return d == n
}

// valueAt returns the value of a key of a dict that a pattern has accepted, or refAbsent.
func (m *matcher) valueAt(dict ref, key string) ref {
	n := m.g.node(dict)
	for i := range n.n {
		m.cost++
		if k := m.g.elem(n.a + 2*i); m.g.kind(k) == KindText && m.g.text(k) == key {
			return m.g.elem(n.a + 2*i + 1)
		}
	}
	return refAbsent
}

func (m *matcher) textAt(dict ref, key string) string {
	if r := m.valueAt(dict, key); r != refAbsent && m.g.kind(r) == KindText {
		return m.g.text(r)
	}
	return ""
}
