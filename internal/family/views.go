package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// split plans the tensors that one of transformers becomes.
func (p *planner) split(i *tensor.Info, at *location) error {
	if i.Strides != nil {
		return wire.ErrUnsupported.Errorf("a view that must be split")
	}
	if at.name.views[0].cuts != nil {
		return p.splitRows(i, at)
	}
	for at.view = range at.name.views {
		v := &at.name.views[at.view]
		t := Tensor{Name: p.nameOf(at), Shape: v.shape(p.c), Decay: at.name.op.decays() && !p.asIs, InF32: at.name.op == wideDecay}
		strides, first := v.strides(p.c)
		if at.bias { // a number for each row of the matrix
			if len(strides) != 2 || strides[0] < 1 {
				return wire.ErrUnsupported.Errorf("a bias for a tensor without rows")
			}
			t.Shape, strides, first = t.Shape[:1], []int64{1}, first/strides[0]
		}
		lie := t.Shape
		if v.sourceShape != nil {
			lie = v.sourceShape(p.c)
		}
		if err := checkView(i.Elements(), lie, strides, first, v); err != nil {
			return err
		}
		t.DType = p.dtypeFor(at.name, t.Name, len(t.Shape), i.DType)
		if p.o.Packed != nil {
			if blocks, scales, ok := p.o.Packed(i); ok {
				p.Moved = true
				t.DType, t.Packed = tensor.MXFP4, &Packed{blocks, scales, max(1, v.step), v.first}
			}
		}
		if t.Packed == nil {
			part := Part{Info: *i}
			part.Info.Shape = lie
			part.Info.Strides, part.Info.Offset = strides, first
			t.Parts = []Part{part}
		}
		if v.repeat != nil && t.Packed == nil {
			if err := p.repeat(&t, v.repeat(p.c)); err != nil {
				return err
			}
		}
		if err := p.add(t); err != nil {
			return err
		}
	}
	return nil
}

// repeat writes the only part of a tensor n times.
func (p *planner) repeat(t *Tensor, n int64) error {
	if n < 1 || n > 1<<16 {
		return wire.ErrRange.Errorf("a part that is written %d times", n)
	}
	list, err := limits.Make[Part](p.b, int(n))
	for i := range list {
		list[i] = t.Parts[0]
	}
	t.Parts, t.Shape = list, append([]int64{n}, t.Shape[1:]...)
	return err
}

// joinViews collects the views of a tensor of transformers and plans it when the last one
// is read.
func (p *planner) joinViews(i *tensor.Info, at *location) error {
	byRows := at.name.views[0].cuts != nil
	if at.name.join == nil && at.name.interleave == nil && !byRows {
		return wire.ErrUnsupported.Errorf("%s of transformers cannot be restored from its parts", wire.Quote(at.name.hf))
	}
	want, err := p.viewShape(at)
	if err != nil {
		return err
	}
	for _, n := range want {
		if n < 1 {
			return wire.ErrMismatch.Errorf("by the keys its shape is %v", want)
		}
	}
	if err := sameShape(i.Shape, want); err != nil {
		return err
	}
	packed := p.keepBlocks && at.name.mayKeepBlocks && i.DType == tensor.MXFP4 && i.Strides == nil
	if g, _ := i.DType.Geometry(); !packed && (i.Strides != nil || g.Elems != 1 && !byRows) {
		return wire.ErrUnsupported.Errorf("it must be transposed, but is %s: decode the file first, to GGUF of F32, F16 or BF16", i.TypeName())
	}
	have, whole, err := p.gather(i, at)
	if err != nil || !whole {
		return err
	}
	shape, err := p.shape(at)
	if err != nil {
		return err
	}
	if at.name.mayKeepBlocks {
		p.Moved = p.Moved || packed
		p.decodedExperts = p.decodedExperts || !packed
	}
	switch {
	case packed:
		return p.unpackBlocks(have, at)
	case byRows:
		return p.joinRows(have, at, shape)
	case at.name.interleave != nil:
		return p.interleaveViews(have, at, shape)
	}
	parts, err := limits.Make[Part](p.b, int(2*p.c.heads()))
	if err != nil {
		return err
	}
	t := p.newHFTensor(at, &have[0], shape)
	t.Parts = append(parts[:0], at.name.join(p.c, have, shape)...)
	return p.add(t)
}

// gather stores a view of a tensor and reports whether all of them are there.
func (p *planner) gather(i *tensor.Info, at *location) (have []tensor.Info, whole bool, err error) {
	if p.partial == nil {
		p.partial = map[stackKey][]tensor.Info{}
	}
	key := stackKey{at.index, at.layer, at.bias}
	if have = p.partial[key]; have == nil {
		if have, err = limits.Make[tensor.Info](p.b, len(at.name.views)); err != nil {
			return nil, false, err
		}
	}
	have[at.view] = *i
	p.partial[key] = have
	for k := range have {
		if have[k].Name == "" {
			return nil, false, nil
		}
		if have[k].DType != i.DType {
			return nil, false, wire.ErrUnsupported.Errorf("its parts are %s and %s", have[k].TypeName(), i.TypeName())
		}
	}
	return have, true, nil
}

// newHFTensor returns a tensor of transformers made of i, or of several of i's type,
// without its parts.
func (p *planner) newHFTensor(at *location, i *tensor.Info, shape []int64) Tensor {
	return Tensor{Name: at.hfName(p.c), Shape: shape, DType: i.DType, Wide: i.DType == tensor.F32 && Wide(i) && !p.asIs, Log: at.name.op.decays() && !p.asIs}
}

// interleaveViews plans a tensor of transformers whose elements alternate between its
// views.
func (p *planner) interleaveViews(have []tensor.Info, at *location, shape []int64) error {
	n := len(have)
	one := append(append([]int64(nil), shape[:len(shape)-1]...), shape[len(shape)-1]/int64(n))
	strides := at.name.interleave.strides(p.c)
	parts, err := limits.Make[Part](p.b, n)
	if err != nil {
		return err
	}
	for k := range have {
		if err := checkView(have[k].Elements(), one, strides, 0, &at.name.views[k]); err != nil {
			return err
		}
		parts[k] = Part{Info: have[k]}
		parts[k].Info.Shape, parts[k].Info.Strides = one, strides
	}
	t := p.newHFTensor(at, &have[0], shape)
	t.Parts = parts
	if n > 1 {
		t.Turns = at.name.interleave.turns(p.c)
	}
	return p.add(t)
}

// checkView proves that all elements of a view are inside a tensor of the given size.
func checkView(elements int64, shape, strides []int64, last int64, v *view) error {
	for d, n := range shape {
		if last < 0 || last >= elements || n < 1 || n > elements || strides[d] < 1 || strides[d] > elements || (n-1) > (elements-1-last)/strides[d] {
			return wire.ErrMismatch.Errorf("the configuration gives the part %s the shape %v", wire.Quote(v.gguf), shape)
		}
		last += (n - 1) * strides[d]
	}
	return nil
}

// unpackBlocks plans the blocks and scales of a stack of experts, whose rows alternate
// between its views.
func (p *planner) unpackBlocks(have []tensor.Info, at *location) error {
	experts, rows, blocks := have[0].Shape[0], have[0].Shape[1]*int64(len(have)), have[0].Shape[2]/32
	name := at.hfName(p.c)
	if err := p.add(Tensor{Name: name + "_blocks", DType: tensor.U8, Shape: []int64{experts, rows, blocks, 16}, Unpacked: &Unpacked{Of: have}}); err != nil {
		return err
	}
	return p.add(Tensor{Name: name + "_scales", DType: tensor.U8, Shape: []int64{experts, rows, blocks}, Unpacked: &Unpacked{Of: have, Scales: true}})
}
