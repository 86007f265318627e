package onnx

import (
	"math"
	"slices"
)

// paired are the operators on pairs of numbers.
var paired = map[string]func(x, y float64) float64{
	"Add": func(x, y float64) float64 { return x + y }, "Sub": func(x, y float64) float64 { return x - y }, "Mul": func(x, y float64) float64 { return x * y },
	"Div": func(x, y float64) float64 { return x / y }, "Pow": math.Pow, "Max": math.Max, "Min": math.Min, "Mod": math.Mod, "Sum": func(x, y float64) float64 { return x + y },
	"Equal": truth(func(x, y float64) bool { return x == y }), "Less": truth(func(x, y float64) bool { return x < y }), "Greater": truth(func(x, y float64) bool { return x > y }),
	"LessOrEqual": truth(func(x, y float64) bool { return x <= y }), "GreaterOrEqual": truth(func(x, y float64) bool { return x >= y }),
	"And": truth(func(x, y float64) bool { return x != 0 && y != 0 }), "Or": truth(func(x, y float64) bool { return x != 0 || y != 0 }),
}

// unary are the operators on one number.
var unary = map[string]func(float64) float64{
	"Floor": math.Floor, "Ceil": math.Ceil, "Round": math.RoundToEven, "Sqrt": math.Sqrt, "Neg": func(x float64) float64 { return -x }, "Abs": math.Abs, "Reciprocal": func(x float64) float64 { return 1 / x },
	"Sign": func(x float64) float64 { return one(x > 0) - one(x < 0) }, "Not": func(x float64) float64 { return one(x == 0) },
}

// reduced are the operators that make one number of all.
var reduced = map[string]func(x, y float64) float64{"ReduceProd": paired["Mul"], "ReduceSum": paired["Add"], "ReduceMax": math.Max, "ReduceMin": math.Min}

// passed are the operators whose output has the numbers of their first input, in order.
var passed = map[string]bool{"Identity": true, "Unsqueeze": true, "Squeeze": true, "Reshape": true, "Flatten": true, "Dropout": true}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func truth(f func(x, y float64) bool) func(x, y float64) float64 {
	return func(x, y float64) float64 { return one(f(x, y)) }
}

// exact returns the numbers of an output of an operator, if they follow from those of its inputs by an
// operator that is computed here, as the runtime computes them. Only Slice is computed without an input.
func (s *sizing) exact(inputs []*folded, out *folded, output int) ([]float64, bool) {
	if first := inputs[0]; first == nil || s.refers {
		return nil, false
	}
	if v, ok, is := s.moved(inputs, out); is {
		return v, ok
	}
	if slices.ContainsFunc(inputs, func(c *folded) bool { return c == nil || c.values == nil }) {
		return nil, false
	}
	first, typ := inputs[0], s.typed(inputs, 0)
	if f, is := unary[s.typ]; is {
		return within(mapped(first.values, f), typ)
	}
	if f, is := s.pairOf(inputs); is {
		return pairwise(f, inputs, out.shape, typ)
	}
	if f, is := reduced[s.typ]; is && len(first.values) > 0 {
		if first.typ == typeFloat && s.typ != "ReduceMax" && s.typ != "ReduceMin" {
			return nil, false // in an order that runtimes choose
		}
		v, ok := within([]float64{reduce(first.values, f)}, first.typ)
		return v, ok && (len(inputs) == 1 || len(first.shape) == 1)
	}
	if slices.ContainsFunc(inputs, func(c *folded) bool { return !c.list() }) {
		return nil, false
	}
	return s.placed(inputs, output)
}

// moved is exact for the operators whose numbers are those of the first input, or of its shape; is reports
// whether the operator is one.
func (s *sizing) moved(inputs []*folded, out *folded) (v []float64, ok, is bool) {
	first := inputs[0]
	switch {
	case s.typ == "Shape" && first.shape != nil:
		return s.part(numbers(first.shape)), true, true
	case s.typ == "Size" && first.shape != nil:
		n := first.elements()
		return []float64{n}, n <= 1<<53, true
	case first.values == nil && s.typ != "ConstantOfShape":
		return nil, false, true
	case passed[s.typ]:
		return first.values, true, true
	case s.typ == "Cast" && len(s.sizes["to"]) == 1:
		v, ok = converted(first.values, first.typ, int64(s.sizes["to"][0]))
		return v, ok, true
	case s.typ == "Slice":
		along, known := s.sliced(inputs)
		v = picked(first, along, nil)
		return v, known && v != nil, true
	case s.typ == "Transpose":
		v = picked(first, all(out.shape), s.permuted(len(first.shape)))
		return v, v != nil, true
	}
	return nil, false, false
}

// pairOf returns the operator on pairs of numbers, if it is computed here.
func (s *sizing) pairOf(inputs []*folded) (func(x, y float64) float64, bool) {
	if f, is := paired[s.typ]; is {
		whole := inputs[0].typ != typeFloat && inputs[0].typ != typeDouble
		switch fmod := s.sizes["fmod"]; {
		case s.typ == "Div" && whole:
			return func(x, y float64) float64 { return math.Trunc(x / y) }, true
		case s.typ == "Mod" && (len(fmod) == 0 || fmod[0] == 0):
			return func(x, y float64) float64 { return x - y*math.Floor(x/y) }, whole
		case s.typ == "Pow" && (!whole || inputs[len(inputs)-1].typ != inputs[0].typ || slices.ContainsFunc(inputs[len(inputs)-1].values, func(v float64) bool { return v < 0 })):
			return nil, false
		}
		return f, true
	}
	return nil, false
}

// within returns numbers as a type has them; false if it has not all of them.
func within(values []float64, typ int64) ([]float64, bool) {
	for k, v := range values {
		switch {
		case v != v:
			return nil, false
		case typ == typeFloat:
			values[k] = float64(float32(v))
		case typ == typeDouble:
		case typ == typeBool && (v == 0 || v == 1):
		default:
			low, high, known := rangeOf(typ)
			if !known || v != math.Trunc(v) || v < low || v > high {
				return nil, false
			}
		}
	}
	return values, true
}

// rangeOf returns the least and the largest number of a type of whole numbers that a float64 has in all
// places between.
func rangeOf(typ int64) (low, high float64, known bool) {
	if typ < 1 || typ >= int64(len(types)) || typ == typeString || types[typ].dtype == 0 || types[typ].parts > 0 || types[typ].bits < 8 || !(typ >= 2 && typ <= typeInt64 || typ == 12 || typ == 13) {
		return 0, 0, false
	}
	return max(float64(types[typ].min), -1<<53), min(float64(types[typ].max), 1<<53), true
}

// converted returns numbers of a type as another has them.
func converted(values []float64, from, to int64) ([]float64, bool) {
	out := make([]float64, 0, maxSmall)
	for _, v := range values {
		if _, _, is := rangeOf(to); is {
			v = math.Trunc(v)
		} else if to == typeBool {
			v = one(v != 0)
		}
		out = append(out, v)
	}
	if from == to {
		return values, true
	}
	return within(out, to)
}

// part returns the part of a shape that the attributes of Shape name.
func (s *sizing) part(shape []float64) []float64 {
	from, to := 0.0, float64(len(shape))
	if v := s.sizes["start"]; len(v) == 1 {
		from = v[0]
	}
	if v := s.sizes["end"]; len(v) == 1 {
		to = v[0]
	}
	i, j := placeIn(from, len(shape)), placeIn(to, len(shape))
	return shape[min(i, j):j]
}

// placeIn returns the place that a number names in a list of n, from its end if it is below 0; the
// beginning for NaN.
func placeIn(v float64, n int) int {
	if v < 0 {
		v += float64(n)
	}
	if !(v > 0) {
		return 0
	}
	return int(min(v, float64(n)))
}

// placed is exact for operators on lists, which take numbers by their places.
func (s *sizing) placed(inputs []*folded, output int) ([]float64, bool) {
	v := inputs[0].values
	switch {
	case s.typ == "Concat":
		out := []float64{}
		for _, c := range inputs {
			out = append(out, c.values...)
		}
		return out, true
	case s.typ == "Where" && len(inputs) == 3:
		return chosenBy(v, inputs[1].values, inputs[2].values)
	case s.typ == "Gather" && len(inputs) == 2:
		return gathered(v, inputs[1].values)
	case s.typ == "Split":
		return s.splitted(inputs, output)
	case s.typ == "ConstantOfShape" && len(v) == 1 && v[0] >= 0 && v[0] <= maxSmall:
		fill := 0.0
		if s.value != nil {
			if len(s.value.values) != 1 {
				return nil, false
			}
			fill = s.value.values[0]
		}
		out := make([]float64, 0, maxSmall)
		for range int(v[0]) {
			out = append(out, fill)
		}
		return out, true
	}
	return nil, false
}

func mapped(values []float64, f func(float64) float64) []float64 {
	out := make([]float64, 0, maxSmall)
	for _, v := range values {
		out = append(out, f(v))
	}
	return out
}

func reduce(values []float64, f func(x, y float64) float64) float64 {
	out := values[0]
	for _, v := range values[1:] {
		out = f(out, v)
	}
	return out
}

// pairwise repeats all constants to one shape.
func pairwise(f func(x, y float64) float64, inputs []*folded, shape []int64, typ int64) (out []float64, ok bool) {
	for _, c := range inputs {
		along, axes := repeatedIn(c, shape)
		v := picked(c, along, axes)
		if v == nil {
			return nil, false
		}
		if out == nil {
			out = v
			continue
		}
		for k := range out {
			out[k] = f(out[k], v[k])
		}
		if out, ok = within(out, typ); !ok {
			return nil, false
		}
	}
	return out, true
}

// splitted returns one of the parts of a list.
func (s *sizing) splitted(inputs []*folded, output int) ([]float64, bool) {
	v, sizes := inputs[0].values, s.sizes["split"]
	if len(inputs) > 1 {
		sizes = inputs[1].values
	}
	if len(sizes) == 0 && len(s.outputs) > 0 { // equal parts
		n := (len(v) + len(s.outputs) - 1) / len(s.outputs)
		return v[min(output*n, len(v)):min((output+1)*n, len(v))], len(inputs[0].shape) == 1
	}
	from := 0.0
	for k, n := range sizes {
		if !(n >= 0 && n == math.Trunc(n)) {
			return nil, false
		}
		if to := min(from+n, float64(len(v))); k == output {
			return v[int(from):int(to)], len(inputs[0].shape) == 1
		}
		from = min(from+n, float64(len(v)))
	}
	return nil, false
}

// chosenBy returns for each truth the number of one of two lists.
func chosenBy(is, x, y []float64) ([]float64, bool) {
	n := max(len(is), len(x), len(y))
	if min(len(is), len(x), len(y)) == 0 {
		return nil, false
	}
	out := make([]float64, 0, maxSmall)
	for i := range n {
		v := y[i%len(y)]
		if is[i%len(is)] != 0 {
			v = x[i%len(x)]
		}
		out = append(out, v)
	}
	return out, true
}

// gathered returns numbers by their places; nothing if one is not there, which a runtime refuses.
func gathered(values, places []float64) ([]float64, bool) {
	out := make([]float64, 0, maxSmall)
	for _, p := range places {
		if p < 0 {
			p += float64(len(values))
		}
		if !(p >= 0 && p < float64(len(values))) {
			return nil, false
		}
		out = append(out, values[int(p)])
	}
	return out, true
}

// chosen are the operators whose output has numbers of some inputs alone, rounded perhaps, and which these
// are; nil for all.
var chosen = map[string][]int{
	"Identity": {0}, "Unsqueeze": {0}, "Squeeze": {0}, "Reshape": {0}, "Flatten": {0}, "Gather": {0}, "GatherND": {0}, "GatherElements": {0}, "Slice": {0}, "Split": {0}, "Compress": {0}, "SequenceAt": {0},
	"SplitToSequence": {0}, "Transpose": {0}, "DepthToSpace": {0}, "SpaceToDepth": {0}, "Expand": {0}, "Tile": {0}, "Trilu": {0}, "Abs": {0}, "Floor": {0}, "Ceil": {0}, "Round": {0}, "ReduceMax": {0}, "ReduceMin": {0},
	"Optional": {0}, "OptionalGetElement": {0}, "TopK": {0}, "Unique": {0}, "Where": {1, 2}, "Pad": {0, 2},
	"Concat": nil, "SequenceConstruct": nil, "ConcatFromSequence": nil, "Max": nil, "Min": nil, "Clip": nil,
}

// bounded returns how far the numbers of an output are from 0 at most.
func (s *sizing) bounded(inputs []*folded, output int) float64 {
	far := func(of ...int) (m float64) { // of some inputs, or of all
		for k, c := range inputs {
			if len(of) > 0 && !slices.Contains(of, k) {
				continue
			}
			if c == nil && s.typ != "Clip" && s.typ != "Pad" && s.typ != "Slice" {
				return math.Inf(1)
			} else if c != nil {
				m = max(m, c.bound)
			}
		}
		return m
	}
	count := math.Inf(1)
	if inputs[0] != nil {
		count = inputs[0].count
	}
	if of, is := chosen[s.typ]; is && output == 0 || s.typ == "Split" {
		return math.Ceil(far(of...))
	}
	switch s.typ {
	case "Shape", "Size", "NonZero", "ArgMax", "ArgMin", "SequenceLength", "TopK", "Unique":
		return count
	case "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf", "Sign", "EyeLike":
		return 1
	case "ConstantOfShape":
		if s.value == nil {
			return 0
		}
		return s.value.bound
	}
	return s.computedBound(inputs, count, far)
}

// computedBound is bounded for operators that compute. Whole numbers that a type does not have come to be
// others, which are nearer to 0 if the type has negative ones.
func (s *sizing) computedBound(inputs []*folded, count float64, far func(of ...int) float64) float64 {
	typ := s.typed(inputs, 0)
	if signed := typ == typeFloat || typ == typeDouble || typ == 3 || typ >= 5 && typ <= typeInt64; !signed {
		return math.Inf(1)
	}
	const rounding = 1.001
	switch s.typ {
	case "Add", "Sub", "Sum":
		n := 0.0
		for k := range inputs {
			n += far(k)
		}
		return n * rounding
	case "Mul":
		return far(0) * far(1) * rounding
	case "ReduceSum", "CumSum":
		return far(0) * count * rounding
	case "ReduceProd":
		return math.Pow(max(far(0), 1), count) * rounding
	case "Neg", "ReduceMean", "Mean":
		return far() * rounding
	case "Div":
		if typ != typeFloat && typ != typeDouble {
			return far(0)
		}
	case "Mod":
		return far(0) + far(1)
	case "Range":
		return far(0) + far(1) + far(2)
	case "Cast":
		if far(0) < 1<<31 { // a larger float overflows
			return far(0) * rounding
		}
	}
	return math.Inf(1)
}

// typed returns the type of the numbers of an output; 0 if it is not known.
func (s *sizing) typed(inputs []*folded, output int) int64 {
	of := func(k int) int64 {
		if k < len(inputs) && inputs[k] != nil {
			return inputs[k].typ
		}
		return 0
	}
	switch s.typ {
	case "Shape", "Size", "NonZero", "ArgMax", "ArgMin", "SequenceLength":
		return typeInt64
	case "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf":
		return typeBool
	case "Cast":
		if v := s.sizes["to"]; len(v) == 1 && v[0] >= 0 && v[0] < 64 {
			return int64(v[0])
		}
		return 0
	case "CastLike", "Where":
		return of(1)
	case "ConstantOfShape":
		if s.value == nil {
			return typeFloat
		}
		return s.value.typ
	case "Split":
		return of(0)
	}
	if g := growths[s.typ]; output > 0 || g == unlisted || g == saidSize && s.typ != "Expand" && s.typ != "Tile" && s.typ != "Pad" && s.typ != "Range" || s.typ == "EyeLike" {
		return 0
	}
	switch s.typ {
	case "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul", "SequenceEmpty", "OptionalHasElement", "Optional", "OptionalGetElement", "Bernoulli", "RandomNormalLike", "RandomUniformLike", "BitCast":
		return 0
	}
	return of(0)
}
