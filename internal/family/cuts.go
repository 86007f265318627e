package family

import (
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A cut is a range of rows of a tensor of transformers.
type cut struct {
	first, rows int64
	head        int64 // rows of a head whose halves become pairs, or 0
	apart       bool  // its pairs become halves instead
	half        int64 // 1 or 2 for that half of all rows, instead of first and rows
	times       []func(*config) (float64, bool)
}

// bundledRows returns the rows of queries, keys and values in a matrix that holds, for
// each group of heads, its queries, a key and a value. llama.cpp has all queries first,
// then all keys, then all values, in one matrix or in three.
func bundledRows(c *config) (q, k, v []cut) {
	groups, head := c.kvHeads(), c.headDim()
	each := c.heads() / groups * head
	for g := range groups {
		at := g * (each + 2*head)
		q = append(q, cut{first: at, rows: each})
		k = append(k, cut{first: at + each, rows: head})
		v = append(v, cut{first: at + each + head, rows: head})
	}
	return q, k, v
}

// bundledView is the view of all of them in one matrix.
func bundledView(gguf string) []view {
	return []view{{gguf: gguf, cuts: func(c *config) []cut {
		q, k, v := bundledRows(c)
		return slices.Concat(q, k, v)
	}}}
}

// cutSize is the size of a cut in memory.
const cutSize = 64

// cutBytes returns what the views of a mapping take at most while they are made: seven
// ranges for each head of keys or values or as many as the row says, in lists that double as they
// grow, and once more in one list of all.
func (c *config) cutBytes() int64 {
	ranges := 7 * max(c.heads(), c.kvHeads(), c.keyHeads(), c.valueHeads(), 2)
	if c.row.ranges != nil {
		ranges = max(ranges, c.row.ranges(c))
	}
	return 3 * cutSize * ranges
}

// halved returns the rows of cuts that are halves.
func halved(list []cut, rows int64) []cut {
	for i := range list {
		if n := list[i].half; n > 0 {
			list[i].first, list[i].rows = (n-1)*(rows/2), rows/2
		}
	}
	return list
}

// halfRows is the view of the first or the second half of a tensor's rows.
func halfRows(gguf string, which int64) view {
	return view{gguf: gguf, cuts: func(*config) []cut { return []cut{{half: which}} }}
}

// cutsOf returns the rows of every view of a mapping. Together they must be all rows of
// the tensor, each once.
func (p *planner) cutsOf(n *mapping, rows int64) ([][]cut, error) {
	list, err := limits.Make[[]cut](p.b, len(n.views))
	if err != nil {
		return nil, err
	}
	scratch := p.c.cutBytes()
	if err := p.b.Hold(scratch); err != nil {
		return nil, err
	}
	defer p.b.Drop(scratch)
	all := []cut(nil)
	for i := range n.views {
		list[i] = halved(n.views[i].cuts(p.c), rows)
		if err := p.b.Hold(64 * int64(len(list[i]))); err != nil {
			return nil, err
		}
		all = append(all, list[i]...)
	}
	slices.SortFunc(all, func(a, b cut) int { return int(max(-1, min(1, a.first-b.first))) })
	next := int64(0)
	for _, one := range all {
		if err := p.b.Step(1); err != nil {
			return nil, err
		}
		if one.first != next || one.rows < 1 || one.rows > rows-next || one.head < 0 || one.head > 0 && (one.head%2 != 0 || one.rows%one.head != 0) {
			return nil, wire.ErrMismatch.Errorf("by the configuration its parts do not have the tensor's %d rows in total", rows)
		}
		next += one.rows
	}
	if next != rows {
		return nil, wire.ErrMismatch.Errorf("by the configuration its parts have %d rows, but the tensor has %d", next, rows)
	}
	return list, nil
}

// splitRows plans tensors that are made of rows of one tensor of transformers.
func (p *planner) splitRows(i *tensor.Info, at *location) error {
	list, err := p.cutsOf(at.name, i.Shape[0])
	if err != nil {
		return err
	}
	for at.view = range at.name.views {
		shape, err := p.viewShape(at)
		if err != nil {
			return err
		}
		t := Tensor{Name: p.nameOf(at), Shape: shape, Decay: at.name.op.decays(), InF32: at.name.op == wideDecay}
		t.DType = p.dtypeFor(at.name, t.Name, len(t.Shape), i.DType)
		if t.Parts, err = limits.Make[Part](p.b, len(list[at.view])); err != nil {
			return err
		}
		for n, c := range list[at.view] {
			if err := p.b.Step(1); err != nil {
				return err
			}
			t.Parts[n] = Part{Info: *i, From: c.first, Rows: c.rows, Head: c.head, Back: c.apart}
			if t.Parts[n].Times, err = p.factors(c.times); err != nil {
				return err
			}
		}
		if err := p.add(t); err != nil {
			return err
		}
	}
	return nil
}

// viewShape returns the shape of a view.
func (p *planner) viewShape(at *location) ([]int64, error) {
	v := &at.name.views[at.view]
	if v.cuts == nil {
		shape := v.shape(p.c)
		if at.bias {
			shape = shape[:1]
		}
		return shape, nil
	}
	shape, err := p.shape(at)
	if err != nil {
		return nil, err
	}
	rows := shape[0]
	shape[0] = 0
	for _, c := range halved(v.cuts(p.c), rows) {
		if err := p.b.Step(1); err != nil {
			return nil, err
		}
		shape[0] += c.rows
	}
	if v.squeeze {
		shape = slices.DeleteFunc(shape, func(n int64) bool { return n == 1 })
	}
	return shape, nil
}

// joinRows makes a tensor of transformers from its rows, the inverse of splitRows.
func (p *planner) joinRows(have []tensor.Info, at *location, shape []int64) error {
	list, err := p.cutsOf(at.name, shape[0])
	if err != nil {
		return err
	}
	type placed struct {
		first int64
		part  Part
	}
	var all []placed
	for k := range list {
		from := int64(0)
		for _, c := range list[k] {
			if err := p.b.Hold(256); err != nil {
				return err
			}
			all = append(all, placed{c.first, Part{Info: have[k], From: from, Rows: c.rows, Head: c.head, Back: c.head > 0 && !c.apart}})
			from += c.rows
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return int(max(-1, min(1, a.first-b.first))) })
	t := p.newHFTensor(at, &have[0], shape)
	if t.Parts, err = limits.Make[Part](p.b, len(all)); err != nil {
		return err
	}
	for n := range all {
		if err := p.b.Step(1); err != nil {
			return err
		}
		t.Parts[n] = all[n].part
	}
	return p.add(t)
}

// factors returns the factors that the configuration states for weights.
func (p *planner) factors(list []func(*config) (float64, bool)) ([]float32, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out, err := limits.Make[float32](p.b, len(list))
	for i := range out {
		f, ok := list[i](p.c)
		if !ok || math.IsNaN(f) || math.Abs(f) > math.MaxFloat32 {
			return nil, wire.ErrMissing.Errorf("the configuration lacks the number that it is multiplied by")
		}
		out[i] = float32(f)
	}
	return out, err
}
