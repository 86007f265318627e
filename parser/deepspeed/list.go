package deepspeed

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// list lists the tensors in the order of zero_to_fp32: buffers, weights that are not trained, trained
// ones, shared ones.
func (d *decoder) list() (err error) {
	f, s := d.out, d.first
	f.sources = map[string]*source{}
	if d.names, err = wire.NewNameSet(d.b, 0, func(i int) string { return f.Infos[i].Name }); err != nil {
		return err
	}
	for i := range s.buffers {
		w := &s.buffers[i]
		if err := d.whole(w, true); err != nil {
			return err
		}
	}
	for i := range s.frozen {
		w := &s.frozen[i]
		if d.zero == 3 {
			err = d.frozenParts(w)
		} else {
			err = d.whole(w, false)
		}
		if err != nil {
			return err
		}
	}
	if d.zero == 3 {
		err = d.gathered()
	} else {
		err = d.merged()
	}
	if err != nil {
		return err
	}
	return d.tied()
}

// whole lists a tensor of a file of the module.
func (d *decoder) whole(w *weight, widen bool) error {
	g, _ := w.info.DType.Geometry()
	s := &source{vectors: []vector{w.parts}, share: w.count, size: int64(g.Bytes)}
	i := w.info
	if widen && isFloat(i.Stored) && i.DType != tensor.F32 {
		s.widen = widenings[i.DType]
		i.Stored, i.DType = "torch.float32", tensor.F32
	}
	return d.add(i, s)
}

// frozenParts lists a weight that is not trained, of which each process has a part.
func (d *decoder) frozenParts(w *weight) error {
	g, _ := w.info.DType.Geometry()
	s := &source{share: d.part(w.count), size: int64(g.Bytes)}
	for k, p := range w.parts {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if p.end != s.share {
			return fail(whereOf(w.name), errSum.Errorf("%d elements of process %d, and its part has %d", p.end, k, s.share))
		}
		var err error
		if s.vectors, err = limits.Append(d.b, s.vectors, vector{p}); err != nil {
			return err
		}
	}
	return d.add(w.info, s)
}

// part is how many elements of a weight each process has, with the padding of the last ones.
func (d *decoder) part(count int64) int64 {
	n := int64(len(d.optim))
	return (count + n - 1) / n
}

// floats describes a trained weight.
func floats(w *weight) tensor.Info {
	return tensor.Info{Name: w.name, Stored: "torch.float32", DType: tensor.F32, Shape: w.shape}
}

// merged lists the trained weights of stages 1 and 2: those of a group follow each other in the parts of the
// processes, laid end to end.
func (d *decoder) merged() error {
	if len(d.groups) != len(d.first.groups) {
		return errGroup.Errorf("%d groups of parts, and shapes of %d", len(d.groups), len(d.first.groups))
	}
	for g, group := range d.first.groups {
		v, at := d.groups[g], int64(0)
		for i := range group {
			w := &group[i]
			if w.count > v.len()-at {
				return fail(whereOf(w.name), errSum.Errorf("%d elements from %d on, and the parts of group %d have %d", w.count, at, g, v.len()))
			}
			if err := d.add(floats(w), &source{vectors: d.groups[g : g+1], first: at, share: w.count, size: 4}); err != nil {
				return err
			}
			at += w.count
		}
		if align := 2 * int64(len(d.optim)); (at+align-1)/align != (v.len()+align-1)/align {
			return errSum.Errorf("the weights of group %d have %d elements, and its parts %d: more than padding", g, at, v.len())
		}
	}
	return nil
}

// gathered lists the trained weights of stage 3: each process has a part of each weight, one after another
// in its groups.
func (d *decoder) gathered() error {
	at := int64(0)
	for _, group := range d.first.groups {
		for i := range group {
			w := &group[i]
			share := d.part(w.count)
			if share > d.groups[0].len()-at {
				return fail(whereOf(w.name), errSum.Errorf("%d elements of each process from %d on, and they have %d", share, at, d.groups[0].len()))
			}
			if err := d.add(floats(w), &source{vectors: d.groups, first: at, share: share, size: 4}); err != nil {
				return err
			}
			at += share
		}
	}
	if at != d.groups[0].len() {
		return errSum.Errorf("the weights have %d elements of each process, and their parts %d", at, d.groups[0].len())
	}
	return nil
}

// tied lists the other names of shared weights.
func (d *decoder) tied() error {
	for _, pair := range d.first.shared {
		at, ok := d.names.Find(pair[1])
		if !ok {
			return fail(whereOf(pair[0]), errShared.Errorf("it is shared with %s, which is not there", wire.Quote(pair[1])))
		}
		of := &d.out.Infos[at]
		if of.Storage == "" {
			of.Storage = of.Name
		}
		i := *of
		i.Name = pair[0]
		if err := d.add(i, d.out.sources[of.Name]); err != nil {
			return err
		}
	}
	return nil
}

// add lists a tensor.
func (d *decoder) add(i tensor.Info, s *source) error {
	if s.share = max(s.share, 1); len(s.vectors) > 0 && len(s.vectors[0]) > 0 {
		i.Part = s.vectors[0][0].file
	}
	i.Strides, i.Offset, i.Order = nil, 0, tensor.Little
	i.Span = tensor.Span{Len: i.Elements() * s.made()}
	if err := d.hold(placeCost + sourceCost); err != nil {
		return err
	}
	if err := d.b.Expand(i.Span.Len); err != nil {
		return err
	}
	var err error
	if d.out.Infos, err = limits.Append(d.b, d.out.Infos, i); err != nil {
		return err
	}
	_, added, err := d.names.Add(len(d.out.Infos) - 1)
	if err != nil {
		return err
	}
	if !added {
		return fail(whereOf(i.Name), errName.Errorf("stated twice"))
	}
	d.out.sources[i.Name] = s
	return nil
}

// sourceCost is the memory of a source.
const sourceCost = 96
