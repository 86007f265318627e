package tflite

import (
	"strconv"

	fb "github.com/anamnesis-go/anamnesis/internal/flatbuffers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxDims bounds dimensions; NumPy allows 64.
const maxDims = 64

// graphs reads the tensors and operators of all graphs.
func (d *decoder) graphs() error {
	var err error
	if d.out.index, err = wire.NewNameSet(d.b, 0, func(i int) string { return d.out.Infos[i].Name }); err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	at, _, err := d.root.Vector(modelGraphs)
	if err != nil {
		return err
	}
	d.graphCount = int(at.Len / 4)
	err = d.root.Each(modelGraphs, func(i int, n fb.Node) error {
		g := graph{d: d, number: i}
		if i > 0 {
			name, err := n.Text(graphName)
			if err != nil {
				return err
			}
			if g.prefix = name + "/"; name == "" {
				g.prefix = "#" + strconv.Itoa(i) + "/"
			}
		}
		if err := n.Each(graphTensors, g.tensor); err != nil {
			return err
		}
		if g.tensors, err = places(n, graphTensors); err != nil {
			return err
		}
		for _, k := range [...]int{graphInputs, graphOutputs} {
			if err := g.indexes(n, k, 0); err != nil {
				return err
			}
		}
		return n.Each(graphOperators, g.operator)
	})
	if err != nil {
		return err
	}
	return d.settled()
}

// places returns how many places a vector has.
func places(n fb.Node, k int) (int64, error) {
	at, _, err := n.Vector(k)
	return at.Len / 4, err
}

// indexes checks that a list has tensors of the graph alone, or none where least is -1.
func (g *graph) indexes(n fb.Node, k int, least int64) error {
	at, _, err := n.Vector(k)
	for i := int64(0); err == nil && i < at.Len/4; i++ {
		var v uint64
		if err = g.d.steps.Step(); err != nil {
			return g.d.fail("Operator", n.Off(), err)
		}
		if v, err = n.Element(k, at, i); err == nil && (int64(int32(v)) < least || int64(int32(v)) >= g.tensors) {
			err = g.d.fail(n.Shape().Name, n.Off(), errRange.Errorf("the tensor %d of %d", int32(v), g.tensors))
		}
	}
	return err
}

// operator checks that an operator has a code, tensors and options that its kernel accepts, and notes one
// that is not the runtime's own.
func (g *graph) operator(_ int, n fb.Node) error {
	d := g.d
	k, err := n.Number(operatorCode)
	if err != nil {
		return err
	}
	if k >= uint64(len(d.codes)) {
		return d.fail("Operator", n.Off(), errRange.Errorf("the code %d of %d", k, len(d.codes)))
	}
	c := &d.codes[k]
	if has, err := n.Has(operatorOffset); err != nil {
		return err
	} else if has {
		return d.fail("Operator", n.Off(), wire.ErrUnsupported.WithRule("tflite.options-outside").Errorf("the options of %s are behind the model, which custom operators alone have", wire.Quote(c.name)))
	}
	for _, k := range [...]int{operatorInputs, operatorOutputs} {
		if err := g.indexes(n, k, -1); err != nil {
			return err
		}
	}
	if c.own {
		return g.options(n, c.name)
	}
	if c.said { // one finding for each code
		return nil
	}
	name := wire.Quote(c.name)
	c.said = true
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: "tflite.operator", Severity: tensor.Danger, Where: "operator " + name, Off: n.Off(), Text: "the operator " + name + " is not LiteRT's own: what runs is what a host adds under this name"})
}

// A graph is a graph whose tensors are read.
type graph struct {
	d       *decoder
	number  int
	prefix  string // of the names of its tensors
	tensors int64
}

// tensor adds a tensor that has data.
func (g *graph) tensor(i int, n fb.Node) error {
	d := g.d
	if has, err := n.Has(tensorExternal); err != nil {
		return err
	} else if has {
		return d.fail("Tensor", n.Off(), wire.ErrUnsupported.WithRule("tflite.data-outside").Errorf("the data of tensor %d are in another file", i))
	}
	k, err := n.Number(tensorBuffer)
	if err != nil {
		return err
	}
	if k >= uint64(len(d.buffers)) && k != 0 {
		return d.fail("Tensor", n.Off(), errRange.Errorf("the buffer %d of %d", k, len(d.buffers)))
	}
	if k == 0 || d.buffers[k] == (tensor.Span{}) { // by the schema, the first buffer is empty
		return nil
	}
	if variable, err := n.Number(tensorVariable); err != nil {
		return err
	} else if variable != 0 {
		return d.fail("Tensor", n.Off(), wire.ErrMismatch.WithRule("tflite.variable").Errorf("tensor %d is a variable and has data", i))
	}
	e := entry{at: n.Off(), span: d.buffers[k]}
	info, err := g.describe(n, &e)
	if err != nil {
		return err
	}
	if info.Name, err = g.name(i, n); err != nil {
		return err
	}
	if err := d.add(info, e); err != nil {
		return err
	}
	return g.quantization(n)
}

// describe reads type and shape, and proves that the data have their length.
func (g *graph) describe(n fb.Node, e *entry) (tensor.Info, error) {
	d := g.d
	var i tensor.Info
	v, err := n.Number(tensorType)
	if err != nil {
		return i, err
	}
	var known bool
	if i.Stored, known = types[int64(v)]; !known {
		return i, d.fail("Tensor", n.Off(), wire.ErrUnsupported.WithRule("tflite.type-unknown").Errorf("the type %d, and %s has none of this number", v, schemaOf))
	}
	if i.Shape, err = g.shape(n); err != nil {
		return i, err
	}
	count, fits := wire.Product(i.Shape)
	if !fits {
		return i, d.fail("Tensor", n.Off(), wire.ErrOverflow.WithRule("tflite.shape-overflow").Errorf("shape %v", i.Shape))
	}
	i.Span = e.span
	sparse, err := n.Has(tensorSparsity)
	if err != nil || sparse || listed[i.Stored] {
		if sparse {
			i.Stored += " (sparse)"
		}
		return i, err
	}
	t := elements[i.Stored]
	bits, fits := wire.Mul(count, uint64(t.bits))
	if !fits {
		return i, d.fail("Tensor", n.Off(), wire.ErrOverflow.WithRule("tflite.shape-overflow").Errorf("shape %v of %s", i.Shape, i.Stored))
	}
	if want := bits/8 + (bits%8+7)/8; want != uint64(e.span.Len) {
		return i, d.fail("Tensor", n.Off(), wire.ErrMismatch.WithRule("tflite.data-size").Errorf("%s %v takes %d bytes, and its buffer has %d", i.Stored, i.Shape, want, e.span.Len))
	}
	if i.DType = t.dtype; t.bits < 8 {
		e.bits, i.Span.Len = uint(t.bits), int64(count)
	}
	return i, nil
}

// shape reads the shape; without one a tensor is a scalar.
func (g *graph) shape(n fb.Node) ([]int64, error) {
	at, _, err := n.Vector(tensorShape)
	if err != nil {
		return nil, err
	}
	dims := at.Len / 4
	if dims > maxDims {
		return nil, g.d.fail("Tensor", at.Off, wire.ErrUnsupported.WithRule("tflite.dimensions").Errorf("%d dimensions", dims))
	}
	shape, err := limits.Make[int64](g.d.b, int(dims))
	if err != nil {
		return nil, g.d.fail("Tensor", at.Off, err)
	}
	for k := range shape {
		v, err := n.Element(tensorShape, at, int64(k))
		if err != nil {
			return nil, err
		}
		if shape[k] = int64(int32(v)); shape[k] < 0 {
			return nil, g.d.fail("Tensor", at.Off, errRange.Errorf("a dimension of %d", shape[k]))
		}
	}
	return shape, nil
}

// name returns the name of a tensor, which no other has.
func (g *graph) name(i int, n fb.Node) (string, error) {
	name, err := n.Text(tensorName)
	if err != nil {
		return "", err
	}
	number := "#" + strconv.Itoa(i)
	if err := g.d.b.Alloc(int64(len(g.prefix) + len(name) + len(number))); err != nil {
		return "", g.d.fail("Tensor", n.Off(), err)
	}
	full := g.prefix + name
	if _, taken := g.d.out.index.Find(full); taken || name == "" {
		full += number
	}
	return full, nil
}

// add adds a tensor.
func (d *decoder) add(i tensor.Info, e entry) error {
	where := "tensor " + wire.Quote(i.Name)
	err := d.b.Items(1)
	if err == nil {
		err = d.b.Expand(i.Span.Len)
	}
	if err == nil {
		d.out.Infos, err = limits.Append(d.b, d.out.Infos, i)
	}
	if err == nil {
		d.out.entries, err = limits.Append(d.b, d.out.entries, e)
	}
	if err != nil {
		return d.fail(where, e.at, err)
	}
	if _, added, err := d.out.index.Add(len(d.out.Infos) - 1); err != nil {
		return d.fail(where, e.at, err)
	} else if !added {
		return d.fail(where, e.at, wire.ErrDuplicate.WithRule("tflite.name-twice").Errorf("another tensor has this name, and its number"))
	}
	return nil
}

// The names of what belongs to codes, after that of the codes.
const (
	scaleName = "/scale"
	zeroName  = "/zero_point"
)

// quantization adds the scales and zero points of the tensor that was added last.
func (g *graph) quantization(n fb.Node) error {
	d, last := g.d, len(g.d.out.Infos)-1
	q, has, err := n.Table(tensorQuantization)
	if err != nil || !has {
		return err
	}
	said := &coded{}
	scales, zeros, err := said.read(q)
	if err != nil {
		return err
	}
	of := &d.out.Infos[last]
	if scales.Len == 0 && said.why == "" || of.DType == tensor.Unknown {
		return nil // a range of numbers alone
	}
	if err := d.checkCodes(of, scales.Len/4, zeros.Len/8, said, q); err != nil {
		return err
	}
	d.out.entries[last].coded = said
	if scales.Len > 0 {
		said.scales = of.Name + scaleName
	}
	if zeros.Len > 0 {
		said.zeros = of.Name + zeroName
	}
	if err := d.b.Alloc(int64(len(said.scales) + len(said.zeros))); err != nil {
		return d.fail("Tensor", q.Off(), err)
	}
	if scales.Len > 0 {
		err = d.add(tensor.Info{Name: said.scales, Stored: "FLOAT32", DType: tensor.F32, Shape: []int64{scales.Len / 4}, Span: scales}, entry{at: q.Off(), span: scales})
	}
	if err == nil && zeros.Len > 0 {
		err = d.add(tensor.Info{Name: said.zeros, Stored: "INT64", DType: tensor.I64, Shape: []int64{zeros.Len / 8}, Span: zeros}, entry{at: q.Off(), span: zeros})
	}
	return err
}

// read reads what a tensor says of its codes, and where scales and zero points are.
func (c *coded) read(q fb.Node) (scales, zeros tensor.Span, err error) {
	kind, err := q.Number(quantizationKind)
	if err != nil {
		return scales, zeros, err
	}
	if kind != 0 {
		c.why = "its quantization is of a kind that is not read"
	}
	at, _, err := q.Vector(quantizationScale)
	if err != nil {
		return scales, zeros, err
	}
	z, _, err := q.Vector(quantizationZero)
	if err != nil {
		return scales, zeros, err
	}
	dim, err := q.Number(quantizationDimension)
	c.axis = int64(int32(dim))
	return tensor.Span(at), tensor.Span(z), err
}

// checkCodes checks that there is a scale and a zero point for the tensor, or for each index of the
// axis, as the runtime does.
func (d *decoder) checkCodes(of *tensor.Info, scales, zeros int64, said *coded, q fb.Node) error {
	if said.why != "" {
		return nil
	}
	one := scales == 1
	if zeros == scales && (one || said.axis >= 0 && said.axis < int64(len(of.Shape)) && of.Shape[said.axis] == scales) {
		return nil
	}
	return d.fail("tensor "+wire.Quote(of.Name), q.Off(), wire.ErrMismatch.WithRule("tflite.quantization").Errorf("%d scales and %d zero points for the axis %d of shape %v", scales, zeros, said.axis, of.Shape))
}

// spans finds the tensors that share data, and refuses data that overlap in part.
func (d *decoder) spans() error {
	order, err := limits.Make[int32](d.b, len(d.out.entries))
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	for i := range order {
		order[i] = int32(i)
	}
	err = limits.Sort(d.b, order, func(x, y int32) int { return compareSpans(d.out.entries[x].span, d.out.entries[y].span) })
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	for k := 1; k < len(order); k++ {
		x, y := order[k-1], order[k]
		a, b := d.out.entries[x].span, d.out.entries[y].span
		switch {
		case a.End() <= b.Off || b.Len == 0:
		case a != b:
			return d.fail("tensor "+wire.Quote(d.out.Infos[y].Name), b.Off, wire.ErrOverlap.WithRule("tflite.data-overlap").Errorf("its data overlap those of %s in part", wire.Quote(d.out.Infos[x].Name)))
		case sameKind(&d.out.Infos[x], &d.out.Infos[y]):
			if err := d.joint(x, y); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameKind reports whether two tensors of the same data are the same numbers.
func sameKind(x, y *tensor.Info) bool { return x.Stored == y.Stored && x.DType == y.DType }

// joint says that two tensors share a storage.
func (d *decoder) joint(x, y int32) error {
	if d.out.Infos[x].Storage == "" {
		name := "@" + strconv.FormatInt(d.out.entries[x].span.Off, 10)
		if err := d.b.Hold(int64(len(name))); err != nil {
			return d.fail("", d.out.entries[x].at, err)
		}
		d.out.Infos[x].Storage = name
	}
	d.out.Infos[y].Storage = d.out.Infos[x].Storage
	return nil
}
