package tflite

import (
	"slices"

	fb "github.com/anamnesis-go/anamnesis/internal/flatbuffers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Why an operator is refused whose kernel would divide by zero, read outside of its lists or not end.
var (
	errOptions = wire.ErrRange.WithRule("tflite.options")
	errCalls   = wire.ErrRange.WithRule("tflite.calls")
)

// maxOption bounds a stride, a dilation, a size of a filter or of a block: their products fit 32 bits.
const maxOption = 1 << 15

// A limit is the least that a field of options may be, at most maxOption; and what it is where it is
// not written, by the schema.
type limit struct{ least, unset uint64 }

// bounded are the fields of options that have a limit.
var bounded = map[string]limit{
	"StrideW": {1, 0}, "StrideH": {1, 0}, "StrideD": {1, 0}, "DilationWFactor": {1, 1}, "DilationHFactor": {1, 1}, "DilationDFactor": {1, 1},
	"FilterWidth": {1, 0}, "FilterHeight": {1, 0}, "BlockSize": {1, 0}, "NumSplits": {1, 0}, "Num": {1, 0}, "ValuesCount": {1, 0},
	"Rank": {1, 0}, "NgramSize": {1, 0}, "Radius": {0, 0}, "MaxSkipSize": {0, 0}, "NumChannels": {0, 0}, "NumColumnsPerChannel": {0, 0},
}

// counts are fields that say how many outputs the operator has, or inputs.
var counts = map[string]int{"NumSplits": operatorOutputs, "Num": operatorOutputs, "ValuesCount": operatorInputs}

// needed are the options of operators that a kernel divides by, indexes with or calls: without
// them, or with those of another operator, it takes what is in its memory.
var needed = map[string]int{
	"CONV_2D": tableConv2DOptions, "DEPTHWISE_CONV_2D": tableDepthwiseConv2DOptions, "TRANSPOSE_CONV": tableTransposeConvOptions,
	"CONV_3D": tableConv3DOptions, "CONV_3D_TRANSPOSE": tableConv3DOptions,
	"AVERAGE_POOL_2D": tablePool2DOptions, "MAX_POOL_2D": tablePool2DOptions, "L2_POOL_2D": tablePool2DOptions,
	"SPACE_TO_DEPTH": tableSpaceToDepthOptions, "DEPTH_TO_SPACE": tableDepthToSpaceOptions,
	"SPLIT": tableSplitOptions, "SPLIT_V": tableSplitVOptions, "PACK": tablePackOptions, "UNPACK": tableUnpackOptions,
	"SVDF": tableSVDFOptions, "SKIP_GRAM": tableSkipGramOptions,
	"IF": tableIfOptions, "WHILE": tableWhileOptions, "CALL": tableCallOptions, "CALL_ONCE": tableCallOnceOptions,
	"STABLEHLO_WHILE": tableStablehloWhileOptions, "STABLEHLO_CASE": tableStablehloCaseOptions, "STABLEHLO_COMPOSITE": tableStableHLOCompositeOptions,
	"STABLEHLO_REDUCE": tableStablehloReduceOptions, "STABLEHLO_REDUCE_WINDOW": tableStablehloReduceWindowOptions,
	"STABLEHLO_SCATTER": tableStablehloScatterOptions, "STABLEHLO_SORT": tableStablehloSortOptions,
}

// graphFields are the fields of options that name a graph.
var graphFields = map[string]bool{
	"Subgraph": true, "ThenSubgraphIndex": true, "ElseSubgraphIndex": true, "InitSubgraphIndex": true, "CondSubgraphIndex": true, "BodySubgraphIndex": true,
	"ComparatorSubgraphIndex": true, "UpdateComputationSubgraphIndex": true, "BranchSubgraphIndices": true, "DecompositionSubgraphIndex": true,
}

// loops are the operators that run a graph until it says that they end.
var loops = map[string]bool{"WHILE": true, "STABLEHLO_WHILE": true}

// options checks the options of an operator of a name, and notes the graphs that they call.
func (g *graph) options(n fb.Node, name string) error {
	want, needs := needed[name]
	for _, k := range [...]int{operatorOptions, operatorOptions2} {
		o, has, err := n.Table(k)
		if err != nil {
			return err
		}
		if !has {
			continue
		}
		needs = needs && o.Shape() != &schema.Tables[want]
		if err := g.fields(n, o, name); err != nil {
			return err
		}
	}
	if needs {
		return g.d.fail("Operator", n.Off(), wire.ErrMissing.WithRule("tflite.options-missing").Errorf("%s without its %s", name, schema.Tables[want].Name))
	}
	if loops[name] && !g.d.looped {
		g.d.looped = true // one finding for a model
		return g.d.out.Found.Add(g.d.b, Format, tensor.Finding{Code: "tflite.loop", Severity: tensor.Warning, Where: "operator " + name, Off: n.Off(), Text: "the operator " + name + " runs as long as the data say, which may be forever"})
	}
	return nil
}

// fields checks the fields of the options of an operator.
func (g *graph) fields(n, o fb.Node, name string) error {
	for k := range o.Shape().Fields {
		f := &o.Shape().Fields[k]
		var err error
		if l, is := bounded[f.Name]; is {
			err = g.bound(n, o, k, l)
		} else if graphFields[f.Name] {
			err = g.calls(o, k, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bound checks a field that has a limit, and is as many as its operator has inputs or outputs, if it
// counts them.
func (g *graph) bound(n, o fb.Node, k int, l limit) error {
	f, v := o.Shape().Fields[k].Name, l.unset
	has, err := o.Has(k)
	if err == nil && has {
		v, err = o.Number(k)
	}
	if err != nil {
		return err
	}
	if v < l.least || v > maxOption {
		return g.d.fail(o.Shape().Name+"."+f, o.Off(), errOptions.Errorf("%s is %d, and it is at least %d and at most %d", f, int32(v), l.least, maxOption))
	}
	list, is := counts[f]
	if !is {
		return nil
	}
	at, _, err := n.Vector(list)
	if err == nil && uint64(at.Len/4) != v {
		err = g.d.fail(o.Shape().Name+"."+f, o.Off(), errOptions.Errorf("%s is %d, and the operator has %d", f, v, at.Len/4))
	}
	return err
}

// calls notes a graph or a list of graphs.
func (g *graph) calls(o fb.Node, k int, name string) error {
	if o.Shape().Fields[k].Kind != fb.Scalars {
		v, err := o.Number(k)
		if err != nil {
			return err
		}
		return g.call(o, v, name)
	}
	at, _, err := o.Vector(k)
	for i := int64(0); err == nil && i < at.Len/4; i++ {
		var v uint64
		if v, err = o.Element(k, at, i); err == nil {
			err = g.call(o, v, name)
		}
	}
	return err
}

// call notes that the graph calls another one.
func (g *graph) call(o fb.Node, to uint64, name string) error {
	d := g.d
	if to >= uint64(d.graphCount) {
		return d.fail(o.Shape().Name, o.Off(), errRange.Errorf("%s calls the graph %d of %d", name, int32(to), d.graphCount))
	}
	err := d.steps.Step()
	if err == nil {
		err = d.b.Items(1)
	}
	if err == nil {
		d.called, err = limits.Append(d.b, d.called, call{g.number, int(to), o.Off()})
	}
	if err != nil {
		return d.fail(o.Shape().Name, o.Off(), err)
	}
	return nil
}

// A call is an operator of a graph that runs another one.
type call struct {
	from, to int
	at       int64
}

// maxRuns bounds how many graphs run when each call is followed: graphs that call the next one
// twice take 2^n.
const maxRuns = 1 << 16

// settled proves that no graph calls itself, and that the calls of all graphs stay few if each is
// followed. Graphs are settled in the order in which all that they call are; a call that is left
// belongs to a circle.
func (d *decoder) settled() error {
	runs, err := limits.Make[int64](d.b, d.graphCount)
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	waits, err := limits.Make[int](d.b, d.graphCount)
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	for _, c := range d.called {
		if err := d.steps.Step(); err != nil {
			return d.fail("Operator", c.at, err)
		}
		waits[c.from]++
	}
	if err := limits.Sort(d.b, d.called, func(a, b call) int { return a.to - b.to }); err != nil {
		return d.fail("Operator", wire.NoOffset, err)
	}
	ready, err := limits.Make[int](d.b, d.graphCount)
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	ready = ready[:0]
	for k := range waits {
		if runs[k] = 1; waits[k] == 0 {
			ready = append(ready, k)
		}
	}
	for i := 0; i < len(ready); i++ {
		if ready, err = d.settle(ready, ready[i], runs, waits); err != nil {
			return err
		}
	}
	return d.circle(waits)
}

// circle refuses a call of a graph that still waits for one that it calls.
func (d *decoder) circle(waits []int) error {
	for _, c := range d.called {
		if err := d.steps.Step(); err != nil {
			return d.fail("Operator", c.at, err)
		}
		if waits[c.from] > 0 {
			return d.fail("Operator", c.at, errCalls.Errorf("the graph %d calls the graph %d in a circle: the runtime calls until its stack ends", c.from, c.to))
		}
	}
	return nil
}

// settle adds the runs of a graph to those that call it.
func (d *decoder) settle(ready []int, k int, runs []int64, waits []int) ([]int, error) {
	first, _ := slices.BinarySearchFunc(d.called, k, func(c call, k int) int { return c.to - k })
	for _, c := range d.called[first:] {
		if c.to != k {
			break
		}
		if err := d.steps.Step(); err != nil {
			return nil, d.fail("Operator", c.at, err)
		}
		if runs[c.from] += runs[k]; runs[c.from] > maxRuns {
			return nil, d.fail("Operator", c.at, errCalls.Errorf("the calls of graphs, each followed, are more than %d", maxRuns))
		}
		if waits[c.from]--; waits[c.from] == 0 {
			ready = append(ready, c.from)
		}
	}
	return ready, nil
}
