package onnx

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A codedOperator says how an operator reads quantized tensors.
type codedOperator struct {
	// codes are the inputs that are codes, each with a scale and zero points in the inputs
	// after it if decoded is set.
	codes   []int
	decoded bool
	// others are inputs that change the numbers, which are not decoded then, by what they are.
	others map[int]string
	// numbers are the attributes that are known, with the values that they have if they are
	// absent; harmless attributes change no number of a weight.
	numbers  map[string]int64
	harmless []string
}

// codedOperators are the operators of ONNX and ONNX Runtime whose inputs are codes. Those of
// the first three are decoded; of the others, it is said that they are not.
var codedOperators = map[string]codedOperator{
	"DequantizeLinear": {codes: []int{0}, decoded: true, numbers: map[string]int64{"axis": 1, "block_size": 0, "output_dtype": 0}},
	"MatMulNBits": {
		codes: []int{1}, decoded: true, others: map[int]string{4: "groups of columns in their own order (g_idx)"},
		numbers: map[string]int64{"K": 0, "N": 0, "bits": 4, "block_size": 0, "weight_prepacked": 0}, harmless: []string{"accuracy_level"},
	},
	"GatherBlockQuantized": {
		codes: []int{0}, decoded: true, numbers: map[string]int64{"bits": 4, "block_size": 128, "gather_axis": 0, "quantize_axis": 1},
	},
	"ConvInteger": {codes: []int{1}}, "MatMulInteger": {codes: []int{0, 1}}, "MatMulIntegerToFloat": {codes: []int{1}}, "DynamicQuantizeMatMul": {codes: []int{1}},
	"QLinearConv": {codes: []int{3}}, "QLinearMatMul": {codes: []int{0, 3}}, "QGemm": {codes: []int{3}}, "QLinearAdd": {codes: []int{0, 3}}, "QLinearMul": {codes: []int{0, 3}},
	"QAttention": {codes: []int{1}}, "QEmbedLayerNormalization": {codes: []int{2, 3, 4}}, "DynamicQuantizeLSTM": {codes: []int{1, 2}},
	"MatMulBnb4": {codes: []int{1}}, "MatMulFpQ4": {codes: []int{1}}, "QMoE": {codes: []int{2, 5, 8}},
}

// maxInputs bounds the inputs and attributes that are kept of an operator.
const maxInputs = 16

// An operator is one that reads codes.
type operator struct {
	typ, domain string
	scope       int32
	inputs      []string
	numbers     map[string]int64
	why         string
}

// An attributeValue is the number of an attribute.
type attributeValue struct {
	name  string
	value int64
	is    bool // it is one number, and nothing else
}

// quantizes returns the operator if it is one that reads codes.
func (o *nodeProto) quantizes() *operator {
	row, known := codedOperators[o.typ]
	if !known || o.domain != "" && o.domain != "ai.onnx" && o.domain != "com.microsoft" {
		return nil
	}
	p := &operator{typ: o.typ, domain: o.domain, inputs: o.inputs, numbers: map[string]int64{}}
	if !row.decoded {
		p.why = "the operator is not read"
		return p
	}
	for name, absent := range row.numbers {
		p.numbers[name] = absent
	}
	for _, a := range o.attributes {
		if _, is := row.numbers[a.name]; is && a.is {
			p.numbers[a.name] = a.value
		} else if !slices.Contains(row.harmless, a.name) {
			p.why = "an attribute that is not known"
		}
	}
	if len(o.inputs) == maxInputs || len(o.attributes) == maxInputs {
		p.why = "too many inputs or attributes"
	}
	for i, what := range row.others {
		if i < len(o.inputs) && o.inputs[i] != "" {
			p.why = what
		}
	}
	return p
}

// keep keeps an operator of a graph or a function for the end.
func (d *decoder) keep(o *operator, scope *int32) error {
	if o == nil {
		return nil
	}
	const cost = 256 // of an operator; its texts have at most 1 KiB each
	size := int64(cost)
	for _, s := range o.inputs {
		size += int64(len(s))
	}
	if err := d.b.Hold(size); err != nil {
		return err
	}
	var err error
	if o.scope, err = d.newScope(scope); err != nil {
		return err
	}
	d.operators, err = limits.Append(d.b, d.operators, o)
	return err
}

// A scoped is a value of a graph or a function.
type scoped struct {
	scope int32
	name  string
}

// quantized finds the tensors that operators read as codes.
func (d *decoder) quantized() error {
	if len(d.operators) == 0 {
		return nil
	}
	const cost = 64 // of an entry of either map
	values := map[scoped]int32{}
	for i := range d.out.entries {
		e := &d.out.entries[i]
		if err := cmp.Or(d.steps.Step(), d.b.Hold(cost)); err != nil {
			return err
		}
		of := scoped{e.scope, e.label}
		if up := d.scopes[e.scope].parent; d.scopes[up].constant { // an attribute of Constant
			of = scoped{d.scopes[up].parent, d.scopes[up].label}
		}
		if d.scopes[of.scope].values {
			values[of] = int32(i)
		}
	}
	d.out.coded = map[string]tensor.Quantized{}
	for _, o := range d.operators {
		if d.functions[opName{o.domain, o.typ}] {
			o.why = "a function of the model has its name"
		}
		for _, at := range codedOperators[o.typ].codes {
			if err := d.code(values, o, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// code notes one input of an operator, if it is a tensor of the file.
func (d *decoder) code(values map[scoped]int32, o *operator, at int) error {
	codes, err := d.value(values, o, at)
	if err != nil || codes == nil {
		return err
	}
	scales, zeros := 1, 2
	if o.typ != "DequantizeLinear" { // the second is what they are multiplied with or taken by
		scales, zeros = 2, 3
	}
	q := tensor.Quantized{Operator: o.typ, Of: Format, Why: o.why, Block: o.numbers["block_size"], Bits: o.numbers["bits"]}
	for to, at := range map[*string]int{&q.Scales: scales, &q.Zeros: zeros} {
		if q.Why != "" || at >= len(o.inputs) || o.inputs[at] == "" {
			continue
		}
		i, err := d.value(values, o, at)
		if err != nil {
			return err
		}
		if i == nil {
			q.Why = "its scales or zero points are computed"
		} else {
			*to = i.Name
		}
	}
	if q.Scales == "" {
		q.Why = cmp.Or(q.Why, "it has no scales")
	}
	d.settle(o, &q)
	const cost = 256
	if err := d.b.Hold(cost); err != nil {
		return err
	}
	if other, twice := d.out.coded[codes.Name]; twice && other != q {
		q.Why = "operators read it in different ways"
	}
	d.out.coded[codes.Name] = q
	return nil
}

// settle gives the attributes of an operator their meaning.
func (d *decoder) settle(o *operator, q *tensor.Quantized) {
	n := o.numbers
	switch o.typ {
	case "DequantizeLinear":
		if q.Axis = n["axis"]; n["output_dtype"] != 0 && q.Why == "" {
			k, _ := d.out.index.Find(q.Scales)
			if int64(d.out.entries[k].typ) != n["output_dtype"] {
				q.Why = "its result has another type than its scales"
			}
		}
	case "MatMulNBits":
		if q.Shape = [2]int64{n["N"], n["K"]}; n["weight_prepacked"] != 0 {
			q.Why = "it is packed for one kind of processor"
		}
	case "GatherBlockQuantized":
		if q.Axis = n["quantize_axis"]; n["gather_axis"] != 0 {
			q.Why = "rows of another axis than the first"
		}
	}
}

// value returns the tensor that is an input of an operator, or nil: that of its graph, or
// of one around it.
func (d *decoder) value(values map[scoped]int32, o *operator, at int) (*tensor.Info, error) {
	if at >= len(o.inputs) || o.inputs[at] == "" {
		return nil, nil
	}
	for s := o.scope; s > 0; s = d.scopes[s].parent {
		if err := d.steps.Step(); err != nil {
			return nil, err
		}
		if i, ok := values[scoped{s, o.inputs[at]}]; ok {
			return &d.out.Infos[i], nil
		}
	}
	return nil, nil
}

// Quantized returns how an operator of the model reads a tensor of codes. It is false for
// tensors that no operator reads as codes.
func (f *File) Quantized(name string) (tensor.Quantized, bool) {
	q, ok := f.coded[name]
	return q, ok
}
