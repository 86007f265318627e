package onnx

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A graphProto is a GraphProto.
type graphProto struct {
	pb.Ignore

	d     *decoder
	scope int32
	nodes int
	named formal // inputs and outputs
}

func (g *graphProto) Message(f uint64, of pb.Hook) error {
	switch of := of.(type) {
	case *nodeProto:
		g.nodes++
		if err := g.d.keep(of.quantizes(), &g.scope); err != nil {
			return err
		}
		return g.d.below(of.scope, &g.scope, of.label(g.nodes-1))
	case *tensorProto:
		if of.name == "" {
			return wire.At(Format, "GraphProto", of.e.at, wire.ErrMissing.WithRule("onnx.name-missing").Errorf("an initializer without a name"))
		}
		if err := g.d.constant(of.name, of.folded(), of.e.at); err != nil {
			return err
		}
		return g.d.add(&of.e, &g.scope, of.name)
	case *dimsProto:
		const input, output = 11, 12
		if err := g.d.b.Hold(int64(16 + len(of.name))); err != nil {
			return wire.At(Format, "GraphProto", wire.NoOffset, err)
		}
		switch f {
		case input:
			g.named.inputs = append(g.named.inputs, of.name)
		case output:
			g.named.outputs = append(g.named.outputs, of.name)
		}
		return g.d.static(of)
	case *sparseProto:
		if of.name == "" {
			return wire.At(Format, "GraphProto", of.e.at, wire.ErrMissing.WithRule("onnx.name-missing").Errorf("an initializer without a name"))
		}
		if err := g.d.constant(of.name, shaped(of.dims), of.e.at); err != nil {
			return err
		}
		return g.d.add(&of.e, &g.scope, of.name)
	}
	return nil
}

func (g *graphProto) End(*wire.Cursor, int64) error {
	g.d.scopes[g.scope].values = g.scope > 0
	return nil
}

// A trainingProto is a TrainingInfoProto.
type trainingProto struct {
	pb.Ignore

	d     *decoder
	scope int32
}

func (t *trainingProto) Message(f uint64, of pb.Hook) error {
	if g, ok := of.(*graphProto); ok {
		return t.d.below(g.scope, &t.scope, [...]string{1: "initialization", 2: "algorithm"}[f])
	}
	return nil
}

// An attributeProto is an AttributeProto.
type attributeProto struct {
	pb.Ignore

	d     *decoder
	name  string
	scope int32
	count [3]int32 // messages of each list

	number  int64 // the last that it has, of numbers
	numbers int
	other   bool // it has something else than numbers

	value  []float64 // of a small constant
	many   bool      // it has more numbers than these
	refers bool      // it is one of the function that its operator belongs to
	folded *folded   // of a tensor, or of a list of numbers
	sparse []int64   // the shape of a sparse tensor
	bodies []formal  // of graphs
}

// attributeNumber is the field of an attribute that is one whole number, attributeType that
// of its type.
const attributeNumber, attributeNumbers, attributeType, attributeFloats, attributeFloat = 3, 8, 20, 7, 2

func (a *attributeProto) Number(f, v uint64) error {
	switch f {
	case attributeNumber:
		a.number, a.numbers = int64(v), a.numbers+1
		a.value = []float64{float64(int64(v))}
	case attributeFloat:
		a.other, a.value = true, []float64{float64(math.Float32frombits(uint32(v)))}
	case attributeNumbers:
		a.other = true
		a.keep(float64(int64(v)))
	case attributeFloats:
		a.other = true
		a.keep(float64(math.Float32frombits(uint32(v))))
	case attributeType:
	default:
		a.other = true
	}
	return nil
}

// keep keeps a number of a list, if it is short.
func (a *attributeProto) keep(v float64) {
	if a.many = a.many || len(a.value) >= maxSmall; !a.many {
		a.value = append(a.value, v)
	}
}

func (a *attributeProto) Text(f uint64, s string) error {
	const name, note, reference = 1, 13, 21
	switch f {
	case reference:
		a.other, a.refers = true, true
	case name:
		a.name = s
	case note:
	default:
		a.other = true // a reference to an attribute of a function among them
	}
	return nil
}

func (a *attributeProto) Bytes(f uint64, at wire.Cursor) error {
	a.other = true
	if f == attributeFloats {
		return a.floats(at)
	}
	return nil
}

// attributeLists are the fields of an attribute with any number of tensors, graphs or sparse
// tensors.
var attributeLists = [...]uint64{10, 11, 23}

func (a *attributeProto) Message(f uint64, of pb.Hook) error {
	label := ""
	if list := slices.Index(attributeLists[:], f); list >= 0 {
		label = strconv.Itoa(int(a.count[list]))
		a.count[list]++
	}
	switch of := of.(type) {
	case *graphProto:
		a.bodies = append(a.bodies, of.named)
		return a.d.below(of.scope, &a.scope, label)
	case *tensorProto:
		a.value, a.folded = of.small, of.folded()
		return a.d.add(&of.e, &a.scope, label)
	case *sparseProto:
		a.sparse = of.dims
		return a.d.add(&of.e, &a.scope, label)
	}
	return nil
}

// A nodeProto is a NodeProto.
type nodeProto struct {
	pb.Ignore

	d           *decoder
	outputs     []string
	typ, domain string
	overload    string
	scope       int32
	inputs      []string
	attributes  []attributeValue
	value       *folded              // of a constant
	refers      bool                 // an attribute is one of the function that it belongs to
	many        bool                 // it has more inputs than these
	bodies      []formal             // of its graphs
	sizes       map[string][]float64 // attributes that say the size of the output
}

// longName is the name of all values whose own is too long to keep.
const longName = "\x00"

func (o *nodeProto) Text(f uint64, s string) error {
	switch f {
	case 1:
		if len(o.inputs) < maxInputs {
			o.inputs = append(o.inputs, s)
		} else {
			o.many = true
		}
	case 2:
		if len(o.outputs) < maxInputs {
			o.outputs = append(o.outputs, s)
			break
		}
		if err := o.d.b.Hold(int64(16 + len(s))); err != nil { // of many
			return wire.At(Format, "NodeProto", wire.NoOffset, err)
		}
		o.outputs = append(o.outputs, s)
	case 4:
		o.typ = s
	case 7:
		o.domain = s
	case 8:
		o.overload = s
	}
	return nil
}

func (o *nodeProto) Bytes(f uint64, at wire.Cursor) error {
	switch f {
	case 1, 2:
		return o.Text(f, longName) // which no tensor has
	case 4, 7:
		o.domain = "a name of " + strconv.FormatInt(at.Left(), 10) + " bytes"
	}
	return nil
}

func (o *nodeProto) Message(_ uint64, of pb.Hook) error {
	if a, ok := of.(*attributeProto); ok {
		if len(o.attributes) < maxInputs {
			o.attributes = append(o.attributes, attributeValue{a.name, a.number, a.numbers == 1 && !a.other})
		}
		o.says(a)
		o.bodies = append(o.bodies, a.bodies...)
		return o.d.below(a.scope, &o.scope, a.name)
	}
	return nil
}

// label is what tensors of the operator are called by: its first output, which no other
// operator of the graph has.
func (o *nodeProto) label(index int) string {
	if len(o.outputs) > 0 && o.outputs[0] != "" && o.outputs[0] != longName {
		return o.outputs[0]
	}
	return o.typ + "#" + strconv.Itoa(index)
}

// pythonOperators are operators that run Python code, given by name or as text.
var pythonOperators = map[string]bool{"PyOp": true, "PyCustomOp": true, "PythonOp": true, "PythonOpGrad": true}

func (o *nodeProto) End(c *wire.Cursor, at int64) error {
	d := o.d
	if err := d.b.Items(1); err != nil {
		return c.FailAt("NodeProto", at, err)
	}
	if o.scope > 0 {
		d.scopes[o.scope].constant = o.typ == "Constant" && (o.domain == "" || o.domain == "ai.onnx")
	}
	for _, note := range [...]func(*nodeProto, int64) error{d.runs, d.ran, d.sizing} {
		if err := note(o, at); err != nil {
			return err
		}
	}
	if knownDomains[o.domain] {
		return nil
	}
	if _, seen := d.foreign[opName{o.domain, o.typ}]; seen {
		return nil
	}
	if len(d.foreign) >= maxOperations {
		d.untracked = max(d.untracked, at) // not held against functions
		return nil
	}
	if err := d.b.Hold(int64(64 + len(o.domain) + len(o.typ))); err != nil {
		return c.FailAt("NodeProto", at, err)
	}
	d.foreign[opName{strings.Clone(o.domain), strings.Clone(o.typ)}] = at
	return nil
}

// runs adds a finding about an operator that runs code. Its domain is judged besides: a policy may let
// one of the two pass.
func (d *decoder) runs(o *nodeProto, at int64) error {
	code, what := "", ""
	switch {
	case pythonOperators[o.typ]:
		code, what = "onnx.python", "runs Python code"
	case o.typ == "EPContext" && o.domain == "com.microsoft":
		code, what = "onnx.compiled", "runs what a library of the hardware compiled before, inside of it or in a file that it names"
	default:
		return nil
	}
	typ := wire.Quote(o.typ)
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: code, Severity: tensor.Danger, Where: "operator " + typ, Off: at, Text: "the operator " + typ + " " + what})
}

// maxOperations is how many operators of other domains are tracked. An export of PyTorch that
// keeps its modules as functions has some thousands.
const maxOperations = 32 << 10

// An opName identifies an operator or a function: domain and name.
type opName struct{ domain, name string }

// A functionProto is a FunctionProto. Operators that call it need no library.
type functionProto struct {
	pb.Ignore

	d *decoder
	opName
	overload string
	scope    int32
	nodes    int
	inputs   []string
	outputs  []string
}

func (p *functionProto) Text(f uint64, s string) error {
	switch f {
	case 1:
		p.name = s
	case 4:
		if len(p.inputs) < maxInputs {
			p.inputs = append(p.inputs, s)
		}
	case 5:
		if len(p.outputs) < maxInputs {
			p.outputs = append(p.outputs, s)
		}
	case 10:
		p.domain = s
	case 13:
		p.overload = s
	}
	return nil
}

func (p *functionProto) Message(_ uint64, of pb.Hook) error {
	switch of := of.(type) {
	case *nodeProto:
		p.nodes++
		if err := p.d.keep(of.quantizes(), &p.scope); err != nil {
			return err
		}
		return p.d.below(of.scope, &p.scope, of.label(p.nodes-1))
	case *attributeProto: // a default
		return p.d.below(of.scope, &p.scope, of.name)
	}
	return nil
}

// label names the function among those of the model.
func (p *functionProto) label() string {
	name := p.domain + ":" + p.name
	if p.overload != "" {
		name += ":" + p.overload
	}
	return name
}

func (p *functionProto) End(c *wire.Cursor, at int64) error {
	d := p.d
	d.scopes[p.scope].values = p.scope > 0
	if err := d.called(p, at); err != nil {
		return err
	}
	if err := d.formal(p, at); err != nil {
		return err
	}
	if len(d.functions) >= maxOperations {
		return nil
	}
	if err := d.b.Hold(int64(64 + len(p.domain) + len(p.name))); err != nil {
		return c.FailAt("FunctionProto", at, err)
	}
	d.functions[opName{strings.Clone(p.domain), strings.Clone(p.name)}] = true
	return nil
}
