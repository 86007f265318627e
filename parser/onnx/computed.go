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
	"Exp": math.Exp, "Log": math.Log, "Not": func(x float64) float64 { return one(x == 0) },
}

// reduced are the operators that make one number of all.
var reduced = map[string]func(x, y float64) float64{"ReduceProd": paired["Mul"], "ReduceSum": paired["Add"], "ReduceMax": math.Max, "ReduceMin": math.Min}

// passed are the operators whose output has the numbers of their first input, in order; kept those of
// them that keep its shape.
var (
	passed = map[string]bool{"Identity": true, "Cast": true, "CastLike": true, "Unsqueeze": true, "Squeeze": true, "Reshape": true, "Flatten": true, "Dropout": true}
	kept   = map[string]bool{"Identity": true, "Cast": true, "CastLike": true, "Dropout": true, "DequantizeLinear": true, "Neg": true, "Abs": true, "Floor": true, "Ceil": true, "Round": true, "Sqrt": true, "Not": true}
)

// chosen are the operators whose output has numbers of some inputs alone, and which these are.
var chosen = map[string][]int{
	"Gather": {0}, "GatherND": {0}, "GatherElements": {0}, "Slice": {0}, "Split": {0}, "Where": {1, 2}, "ScatterElements": {0, 2}, "ScatterND": {0, 2}, "Scatter": {0, 2}, "TopK": {0}, "Unique": {0},
	"Compress": {0}, "SequenceAt": {0}, "Transpose": {0}, "Clip": {0, 1, 2}, "DepthToSpace": {0}, "Expand": {0}, "Tile": {0}, "Pad": {0, 2},
	"SequenceConstruct": nil, "Concat": nil, "Max": nil, "Min": nil, // all
}

// asList are the operators whose output is a list.
var asList = map[string]bool{"Concat": true, "Shape": true, "Slice": true, "Gather": true, "Range": true, "ConstantOfShape": true}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func truth(f func(x, y float64) bool) func(x, y float64) float64 {
	return func(x, y float64) float64 { return one(f(x, y)) }
}

// growing are the operators on pairs of numbers and on one whose result is no smaller for larger inputs,
// so that a bound of inputs gives one of the output.
var growing = map[string]bool{"Add": true, "Mul": true, "Pow": true, "Max": true, "Min": true, "Sum": true, "Floor": true, "Ceil": true, "Round": true, "Sqrt": true, "Exp": true, "Log": true, "Abs": true, "Not": true}

// exact returns the numbers of the first output of an operator, if they follow from those of its inputs
// by an operator that is computed here. Only Slice is computed without an input between two others.
func (s *sizing) exact(inputs []*folded) ([]float64, bool) {
	first := inputs[0]
	switch {
	case first == nil:
		return nil, false
	case s.typ == "Shape" && first.shape != nil:
		return s.part(numbers(first.shape)), true
	case s.typ == "Size":
		return []float64{first.count}, true
	case passed[s.typ]:
		return first.values, first.values != nil
	case slices.ContainsFunc(inputs, func(c *folded) bool { return c == nil && s.typ != "Slice" || c != nil && c.values == nil }):
		return nil, false
	case !growing[s.typ] && slices.ContainsFunc(inputs, func(c *folded) bool { return c != nil && c.loose }):
		return nil, false
	}
	if f, is := unary[s.typ]; is {
		return mapped(first.values, f), true
	}
	if f, is := paired[s.typ]; is {
		return pairwise(f, inputs), true
	}
	if f, is := reduced[s.typ]; is && len(first.values) > 0 {
		return []float64{reduce(first.values, f)}, true
	}
	if slices.ContainsFunc(inputs, func(c *folded) bool { return c != nil && !c.vector() }) {
		return nil, false
	}
	return s.placed(inputs)
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
// beginning if it is not a number.
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
func (s *sizing) placed(inputs []*folded) ([]float64, bool) {
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
	case s.typ == "Slice" && len(inputs) >= 3:
		return sliced(v, inputs)
	case s.typ == "ConstantOfShape" && len(v) == 1 && v[0] >= 0 && v[0] <= maxSmall:
		fill := 0.0
		if f := s.sizes["value"]; len(f) == 1 {
			fill = f[0]
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

// pairwise repeats the shorter of two lists.
func pairwise(f func(x, y float64) float64, inputs []*folded) []float64 {
	out := slices.Clone(inputs[0].values)
	for _, c := range inputs[1:] {
		x, y := out, c.values
		if len(x) == 0 || len(y) == 0 {
			return []float64{}
		}
		out = make([]float64, 0, maxSmall)
		for i := range max(len(x), len(y)) {
			out = append(out, f(x[i%len(x)], y[i%len(y)]))
		}
	}
	return out
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

// sliced returns the part of a list between two places, in steps.
func sliced(values []float64, inputs []*folded) ([]float64, bool) {
	step := 1.0
	if len(inputs) > 4 && inputs[4] != nil {
		if len(inputs[4].values) != 1 {
			return nil, false
		}
		step = inputs[4].values[0]
	}
	from, to := inputs[1], inputs[2]
	if from == nil || to == nil || len(from.values) != 1 || len(to.values) != 1 || step == 0 || step != math.Trunc(step) {
		return nil, false
	}
	return stepped(values, from.values[0], to.values[0], step), true
}

// stepped returns the numbers from one place to before another.
func stepped(values []float64, from, to, step float64) []float64 {
	n := len(values)
	out := []float64{}
	if step > 0 {
		for i := float64(placeIn(from, n)); i < float64(placeIn(to, n)); i += step {
			out = append(out, values[int(i)])
		}
		return out
	}
	if from < 0 {
		from += float64(n)
	}
	if to < 0 {
		to += float64(n)
	}
	for i := min(from, float64(n-1)); i > max(to, -1); i += step {
		out = append(out, values[int(i)])
	}
	return out
}
