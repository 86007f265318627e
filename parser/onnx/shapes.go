package onnx

import (
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A growth says how the size of the output of an operator follows from those of its inputs.
type growth uint8

const (
	unlisted growth = iota // it is not known here
	alike                  // the shape of the first input
	fewer                  // no more elements than the first input has
	repeated               // inputs are repeated to one shape
	pairs2                 // a place for each pair, or tuple, of elements at most
	together               // the elements of all inputs
	saidSize               // what inputs or attributes say
	single                 // one number
)

func fields(s string) []string { return strings.Fields(s) }

// growths are the operators by how large their outputs are.
var growths = func() map[string]growth {
	out := map[string]growth{}
	for g, names := range map[growth][]string{
		alike: fields(`Identity Cast CastLike BitCast Dropout Neg Abs Floor Ceil Round Sqrt Not Sign Reciprocal Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Sigmoid HardSigmoid
			HardSwish Hardmax Softmax LogSoftmax Softplus Softsign Relu LeakyRelu ThresholdedRelu Elu Selu Celu Gelu Mish Swish Shrink Clip IsNaN IsInf BitwiseNot CumSum Trilu EyeLike RandomNormalLike RandomUniformLike
			Bernoulli QuantizeLinear DequantizeLinear DynamicQuantizeLinear ScatterElements ScatterND Scatter TensorScatter
			LpNormalization MeanVarianceNormalization LRN ReverseSequence Optional OptionalGetElement RotaryEmbedding RegexFullMatch Affine ImageScaler ParametricSoftplus ScaledTanh Binarizer Normalizer Scaler`),
		fewer: fields(`Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Compress Unique TopK SplitToSequence SequenceAt SequenceErase DepthToSpace SpaceToDepth Det GlobalAveragePool GlobalMaxPool GlobalLpPool
			ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare ArgMax ArgMin MaxPool AveragePool LpPool
			StringNormalizer`),
		repeated: fields(`Add Sub Mul Div Pow Max Min Mean Sum Mod Where PRelu BitShift Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor BitwiseAnd BitwiseOr BitwiseXor StringConcat`),
		pairs2: fields(`MatMul MatMulInteger QLinearMatMul Gemm Einsum Gather GatherND GatherElements GridSample NonMaxSuppression LSTM GRU RNN Attention
			LayerNormalization RMSNormalization InstanceNormalization GroupNormalization BatchNormalization NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss`),
		together: fields(`Concat SequenceConstruct ConcatFromSequence SequenceInsert`),
		single:   fields(`Size SequenceLength SequenceEmpty OptionalHasElement`),
		saidSize: fields(`RandomNormal RandomUniform`),
	} {
		for _, name := range names {
			out[name] = g
		}
	}
	for name := range sizes {
		out[name] = saidSize
	}
	return out
}()

// grows reports whether an operator may make more of inputs of which it is not known how large they are than
// these are; as one that is not known here may.
func (s *sizing) grows(inputs []*folded) bool {
	open, beside := 0, 0
	for _, c := range inputs {
		switch {
		case c == nil:
		case c.open():
			open++
		case c.count > 1:
			beside++
		}
	}
	switch growths[s.typ] {
	case alike, fewer, single:
		return false
	case repeated, pairs2:
		return open+beside > 1
	case together:
		return open > 1
	case saidSize:
		return true
	}
	return open > 0 || s.domain == "" || knownDomains[s.domain]
}

// compute returns what is known of an output of an operator on values, whose inputs are nil where none is
// given. n is how many elements inputs and attributes say at most.
func (s *sizing) compute(inputs []*folded, output int, n float64) *folded {
	if s.typ == "Constant" {
		if s.value == nil || s.refers {
			return unbounded()
		}
		c := *s.value
		return &c
	}
	given := slices.DeleteFunc(slices.Clone(inputs), func(c *folded) bool { return c == nil })
	if len(given) == 0 || s.many {
		return unbounded()
	}
	out := s.size(inputs, given, n)
	out.typ, out.bound = s.typed(inputs, output), s.bounded(inputs, output)
	if output > 0 && s.typ != "Dropout" {
		out.shape = nil // the places of what TopK and Unique find, and states
	}
	computed := out.shape != nil && output == 0 || s.typ == "Split"
	if data := slices.ContainsFunc(given, func(c *folded) bool { return c.data }); !computed || data && s.typ != "Shape" && s.typ != "Size" {
		return out
	}
	if v, ok := s.exact(inputs, out, output); ok && len(v) <= maxSmall {
		if s.typ == "Split" {
			out.shape = []int64{int64(len(v))}
		}
		return listed(v, out.shape, out.typ)
	}
	return out
}

// size returns the shape and the elements of the output of an operator.
func (s *sizing) size(inputs, given []*folded, n float64) *folded {
	sum, all, known := 0.0, 1.0, len(given) == len(inputs) || s.typ == "Slice"
	for _, c := range given {
		sum, all, known = sum+c.count, all*c.count, known && c.shape != nil
	}
	first := inputs[0]
	if s.typ == "Shape" {
		c := &folded{count: maxDims}
		if first != nil && first.shape != nil && !s.refers {
			c = shaped([]int64{int64(len(s.part(numbers(first.shape))))})
		}
		return c
	}
	g := growths[s.typ]
	if first == nil && g != together && g != single {
		return unbounded()
	}
	switch {
	case g == single:
		return shaped(nil)
	case g == alike:
		return &folded{count: max(first.count, n), shape: first.shape}
	case g == repeated && known:
		return shaped(broadcast(given))
	}
	if known {
		if shape := s.shapeOf(inputs); shape != nil {
			return shaped(shape)
		}
	}
	if s.typ == "Reshape" && (first.shape == nil || slices.Contains(first.shape, 0)) {
		return &folded{count: s.ofNothing(inputs)}
	}
	return &folded{count: max(s.counted(first, sum, all, n), n)}
}

// counted returns how many elements an output has at most, of inputs whose elements have this sum and this
// product.
func (s *sizing) counted(first *folded, sum, all, n float64) float64 {
	switch growths[s.typ] {
	case fewer:
		return first.count
	case repeated, pairs2:
		return all
	case together:
		return sum
	case saidSize:
		if s.typ == "DFT" {
			return 2 * first.count
		}
		if n > 0 {
			return n
		}
	}
	if s.typ == "NonZero" && first.shape != nil {
		return first.count * max(float64(len(first.shape)), 1)
	}
	return math.Inf(1) // also where the input or attribute that says the size is left out
}

// ofNothing returns how many elements Reshape makes at most of a value that may have none, where 0 counts
// as 1: any shape with a 0 may come of it.
func (s *sizing) ofNothing(inputs []*folded) float64 {
	if len(inputs) != 2 || inputs[1] == nil || inputs[1].values == nil {
		return math.Inf(1)
	}
	return max(inputs[0].count, product([][]float64{inputs[1].values}))
}

// shapeOf returns the shape of the output of an operator on values of known shapes; nil if it is not
// computed here.
func (s *sizing) shapeOf(inputs []*folded) []int64 {
	rest := inputs[1:]
	if s.typ == "Slice" {
		return s.slicedShape(inputs)
	}
	switch len(rest) {
	case 0:
		return s.shapeOfOne(inputs[0])
	case 1:
		return s.shapeOfPair(inputs[0], rest[0])
	}
	switch s.typ {
	case "Concat":
		return s.concatenated(inputs)
	case "Range":
		if n := between([][]float64{inputs[0].values, rest[0].values, rest[1].values}); inputs[0].values != nil && rest[0].values != nil && rest[1].values != nil && n > 1 && n < 1<<53 && integral(inputs) {
			return []int64{int64(n)}
		}
	}
	return nil
}

// shapeOfOne is shapeOf for an operator on one value, or whose axes are an attribute.
func (s *sizing) shapeOfOne(of *folded) []int64 {
	first := of.shape
	switch {
	case s.typ == "ConstantOfShape":
		if dims, ok := sizesOf(of); ok {
			return dims
		}
	case s.typ == "Transpose":
		return s.transposed(first)
	case s.typ == "Flatten":
		return s.flattened(first)
	case s.typ == "Concat":
		return first
	case s.typ == "Squeeze" || s.typ == "Unsqueeze":
		if axes, has := s.sizes["axes"]; has || s.typ == "Squeeze" {
			return s.squeezed(first, axes, has)
		}
	case strings.HasPrefix(s.typ, "Reduce"):
		if axes, has := s.sizes["axes"]; !has || len(axes) == 1 && len(first) == 1 {
			return s.reducedShape(len(first))
		}
	}
	return nil
}

// shapeOfPair is shapeOf for an operator on two values.
func (s *sizing) shapeOfPair(x, y *folded) []int64 {
	switch s.typ {
	case "Reshape":
		return s.reshaped(x, y)
	case "Squeeze", "Unsqueeze":
		if y.list() {
			return s.squeezed(x.shape, y.values, true)
		}
	case "Gather":
		if k, ok := s.axis(len(x.shape), 0); ok {
			return append(append(append(make([]int64, 0, maxDims), x.shape[:k]...), y.shape...), x.shape[k+1:]...)
		}
	case "GatherElements":
		return y.shape
	case "MatMul", "MatMulInteger":
		if len(x.shape) == 2 && len(y.shape) == 2 {
			return []int64{x.shape[0], y.shape[1]}
		}
	case "Concat":
		return s.concatenated([]*folded{x, y})
	case "Expand":
		if dims, ok := sizesOf(y); ok {
			return broadcast([]*folded{x, {shape: dims}})
		}
	case "Tile":
		return tiled(x, y)
	case "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean":
		if y.values != nil && len(x.shape) == 1 && len(y.values) == 1 {
			return s.reducedShape(1)
		}
	}
	return nil
}

// tiled is the shape of a value that is repeated along each axis.
func tiled(x, y *folded) []int64 {
	dims, ok := sizesOf(y)
	if !ok || len(dims) != len(x.shape) {
		return nil
	}
	out := make([]int64, 0, maxDims)
	for k, n := range x.shape {
		if n > 0 && dims[k] > 1<<53/n {
			return nil
		}
		out = append(out, n*dims[k])
	}
	return out
}

// sizesOf returns the numbers of a constant as the dimensions of a shape, of which none is left to be found.
func sizesOf(c *folded) ([]int64, bool) {
	if !c.list() || slices.ContainsFunc(c.values, func(v float64) bool { return !(v >= 0 && v <= 1<<53 && v == math.Trunc(v)) }) {
		return nil, false
	}
	return whole(c.values), true
}

// reducedShape is the shape of what is reduced over all of its axes.
func (s *sizing) reducedShape(rank int) []int64 {
	if v := s.sizes["noop_with_empty_axes"]; s.many || len(v) > 0 && v[0] != 0 {
		return nil
	}
	out := make([]int64, 0, maxDims)
	if v := s.sizes["keepdims"]; len(v) > 0 && v[0] == 0 {
		return out
	} else if len(v) > 0 && v[0] != 1 {
		return nil
	}
	for range rank {
		out = append(out, 1)
	}
	return out
}

// axis returns the axis that the attribute names.
func (s *sizing) axis(rank int, of float64) (int, bool) {
	if v, has := s.sizes["axis"]; has {
		if len(v) != 1 {
			return 0, false
		}
		of = v[0]
	}
	if of < 0 {
		of += float64(rank)
	}
	return int(max(of, 0)), of >= 0 && of < float64(rank)
}

func (s *sizing) transposed(first []int64) []int64 {
	axes := s.permuted(len(first))
	if axes == nil {
		return nil
	}
	out := make([]int64, 0, maxDims)
	for _, k := range axes {
		out = append(out, first[k])
	}
	return out
}

// slicedShape is the shape of what Slice takes.
func (s *sizing) slicedShape(inputs []*folded) []int64 {
	along, ok := s.sliced(inputs)
	if !ok {
		return nil
	}
	out := make([]int64, 0, maxDims)
	for _, a := range along {
		out = append(out, int64(a.n))
	}
	return out
}

func (s *sizing) flattened(first []int64) []int64 {
	at := 1
	if v, has := s.sizes["axis"]; has {
		if len(v) != 1 || !(math.Abs(v[0]) <= float64(len(first))) {
			return nil
		}
		if at = int(v[0]); at < 0 {
			at += len(first)
		}
	}
	if at > len(first) {
		return nil
	}
	x, ok := wire.Product(first[:at])
	y, ok2 := wire.Product(first[at:])
	if !ok || !ok2 || x > 1<<53 || y > 1<<53 {
		return nil
	}
	return []int64{int64(x), int64(y)}
}

// squeezed is the shape without, or with, axes of 1.
func (s *sizing) squeezed(first []int64, axes []float64, said bool) []int64 {
	out := make([]int64, 0, maxDims)
	rank := len(first)
	if s.typ == "Unsqueeze" {
		rank += len(axes)
	}
	is := [2 * maxDims]bool{}
	for _, v := range axes {
		if v < 0 {
			v += float64(rank)
		}
		if !(v >= 0 && v < float64(min(rank, len(is)))) {
			return nil
		}
		is[int(v)] = true
	}
	if s.typ == "Unsqueeze" {
		for k := range rank {
			if k < len(is) && is[k] {
				out = append(out, 1)
			} else if len(first) > 0 {
				out, first = append(out, first[0]), first[1:]
			}
		}
		return out
	}
	for k, n := range first {
		if !(said && is[k] || !said && n == 1) {
			out = append(out, n)
		}
	}
	return out
}

// reshaped is the shape that the second of two constants says, of which one size may be left to be found.
func (s *sizing) reshaped(x, y *folded) []int64 {
	if !y.list() {
		return nil
	}
	all, ok := wire.Product(x.shape)
	zero := s.sizes["allowzero"]
	if !ok || all > 1<<53 || len(zero) > 0 && zero[0] != 0 {
		return nil
	}
	out, rest, free := make([]int64, 0, maxSmall), float64(1), -1
	for k, v := range y.values {
		switch {
		case v == 0 && k < len(x.shape):
			v = float64(x.shape[k])
		case v == -1 && free < 0:
			free, v = k, 1
		case !(v >= 1 && v <= 1<<53):
			return nil
		}
		out, rest = append(out, int64(v)), rest*v
	}
	if free >= 0 && rest > 0 {
		out[free] = int64(math.Floor(float64(all) / rest))
		rest *= float64(out[free])
	}
	if rest != float64(all) || free >= 0 && rest == 0 {
		return nil
	}
	return out
}

// concatenated is the shape of values joined along an axis.
func (s *sizing) concatenated(inputs []*folded) []int64 {
	out := slices.Clone(inputs[0].shape)
	k, ok := s.axis(len(out), 1) // which is that of the first opsets
	if _, said := s.sizes["axis"]; !ok || !said {
		return nil
	}
	for _, c := range inputs[1:] {
		if len(c.shape) != len(out) || c.shape[k] > 1<<53-out[k] {
			return nil
		}
		out[k] += c.shape[k]
	}
	return out
}

// broadcast returns the shape to which shapes are repeated.
func broadcast(given []*folded) []int64 {
	rank := 0
	for _, c := range given {
		rank = max(rank, len(c.shape))
	}
	out := make([]int64, 0, maxDims)
	for i := range rank {
		n := int64(1)
		for _, c := range given {
			if k := i - rank + len(c.shape); k >= 0 && c.shape[k] != 1 && n != 0 {
				if n = max(n, c.shape[k]); c.shape[k] == 0 {
					n = 0
				}
			}
		}
		out = append(out, n)
	}
	return out
}

// whole returns numbers as a shape.
func whole(values []float64) []int64 {
	out := make([]int64, 0, maxSmall)
	for _, v := range values {
		out = append(out, int64(v))
	}
	return out
}

// numbers returns a shape as numbers.
func numbers(shape []int64) []float64 {
	out := make([]float64, 0, maxDims)
	for _, n := range shape {
		out = append(out, float64(n))
	}
	return out
}
