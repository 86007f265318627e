package lora

import (
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/derive"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Adapter is one that is merged, and how much of it: 1 is what was trained.
type Adapter struct {
	Model  tensor.Model
	Weight float64
}

// A Merged is a base with adapters in it.
type Merged struct {
	*derive.Model
	Adapted  int      // tensors of the base that adapters were added to
	Replaced []string // tensors of the base that an adapter has whole
	Added    []string // tensors that the base has not
}

// Merge gives the base with all adapters merged, one after the other. What is given
// takes the models over: closing it closes them.
func Merge(b *limits.Budget, base tensor.Model, adapters []Adapter) (*Merged, error) {
	m, err := mergeAll(b, base, adapters)
	if err != nil {
		return nil, wire.At("merge", "", wire.NoOffset, err)
	}
	return m, nil
}

func mergeAll(b *limits.Budget, base tensor.Model, adapters []Adapter) (*Merged, error) {
	if err := derive.Plain(b, base); err != nil {
		return nil, err
	}
	if len(adapters) == 0 {
		return nil, wire.ErrUsage.Errorf("no adapter is given")
	}
	x, err := newBinder(b, base)
	if err != nil {
		return nil, err
	}
	sources, all := []tensor.Model{convert.RowMajor(b, base)}, []tensor.Model(nil)
	if err := derive.Whole(b, base); err != nil {
		return nil, err
	}
	for k := range adapters {
		a := &adapter{Adapter: adapters[k]}
		if err := a.read(b, base); err != nil {
			return nil, err
		}
		if err := x.bind(k, a); err != nil {
			return nil, err
		}
		sources, all = append(sources, convert.RowMajor(b, a.Model)), append(all, a.Model)
	}
	return x.merged(b, sources, all)
}

// read reads what an adapter's files say.
func (a *adapter) read(b *limits.Budget, base tensor.Model) (err error) {
	if math.IsNaN(a.Weight) || math.IsInf(a.Weight, 0) {
		return wire.ErrUsage.Errorf("the weight of an adapter is a finite number")
	}
	isGGUF := a.Model.Format() == gguf.Format
	if isGGUF != (base.Format() == gguf.Format) {
		return wire.ErrUnsupported.Errorf("the base is %s, the adapter %s: GGUF adapters go onto GGUF models, those of PEFT onto models of transformers", base.Format(), a.Model.Format())
	}
	if err := derive.Whole(b, a.Model); err != nil {
		return err
	}
	if isGGUF {
		return a.readGGUF(b, base)
	}
	if a.config, err = readConfig(b, a.Model.Configs()); err != nil {
		return err
	}
	return a.sort(b)
}

// merged makes the model of what was bound.
func (x *binder) merged(b *limits.Budget, sources, adapters []tensor.Model) (*Merged, error) {
	tensors, err := limits.Make[derive.Tensor](b, len(x.infos))
	if err != nil {
		return nil, err
	}
	for i := range x.infos {
		tensors[i] = derive.Same(x.base, x.infos[i], x.infos[i].Name)
	}
	var products []*product
	var weights []*weight // of the products
	rooms := derive.NewRooms(b, derive.PieceElements)
	out := &Merged{}
	// Each piece of a weight asks for all of its products, and a worker may still be at
	// the end of the weight before: with fewer each piece would load them again.
	held := derive.NewHeld(b, 2*max(1, x.most), func(b *limits.Budget, i int) (*matrices, error) {
		p := products[i]
		m, err := p.load(b, sources[1+p.adapter], rooms)
		if err == nil && p.magnitude.Name != "" {
			err = m.norms(b, sources[1+p.adapter], weights[i], rooms)
		}
		return m, err
	})
	for _, i := range x.order {
		t := x.targets[i]
		w, err := newWeight(b, x, i, t, sources)
		if err != nil {
			return nil, wire.At("merge", "tensor "+wire.Quote(x.infos[i].Name), wire.NoOffset, err)
		}
		w.held, w.rooms = held, rooms
		for _, p := range t.products {
			if w.products, err = limits.Append(b, w.products, len(products)); err != nil {
				return nil, err
			}
			if products, err = limits.Append(b, products, p); err != nil {
				return nil, err
			}
			if weights, err = limits.Append(b, weights, w); err != nil {
				return nil, err
			}
		}
		tensors[i] = derive.Made(w.info.Name, w.info.DType, w.info.Shape, w)
		if len(t.products) > 0 {
			out.Adapted++
		}
		if t.whole.Name != "" {
			out.Replaced = append(out.Replaced, w.info.Name)
		}
	}
	for i := range x.added {
		out.Added = append(out.Added, x.added[i].Name)
	}
	slices.Sort(out.Replaced)
	if out.Model, err = derive.New(b, x.base, append(tensors, x.added...), adapters...); err != nil {
		return nil, err
	}
	out.Also = held
	return out, nil
}

// Sink is the format that the result is written in: the base's, and safetensors for a
// checkpoint.
func (m *Merged) Sink() convert.Sink {
	if m.Format() == gguf.Format {
		return convert.GGUF{RawNames: true}
	}
	return convert.Safetensors{}
}
