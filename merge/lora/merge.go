package lora

import (
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/inputs"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Adapter is a model of an adapter, and its weight; 1 merges it as it was trained.
type Adapter struct {
	Model  tensor.Model
	Weight float64
}

// A Merged is a base with merged adapters.
type Merged struct {
	*model.Model
	Adapted    int      // number of tensors of the base to which adapters were added
	Replaced   []string // tensors of the base that an adapter replaces
	Added      []string // tensors that the base does not have
	Vocabulary int64    // number of rows of the embeddings if an adapter changed it, else 0
	Tied       bool     // an adapter of one of two modules that have one matrix changed both
	Untied     bool     // they have two now, as tie_word_embeddings in config.json says
}

// Merge returns the base with all adapters merged, one after the other. Closing the result
// closes the models.
func Merge(b *limits.Budget, base tensor.Model, adapters []Adapter) (*Merged, error) {
	m, err := mergeAll(b, base, adapters)
	if err != nil {
		return nil, wire.At("merge", "", wire.NoOffset, err)
	}
	return m, nil
}

func mergeAll(b *limits.Budget, base tensor.Model, adapters []Adapter) (*Merged, error) {
	if err := inputs.Plain(b, base); err != nil {
		return nil, err
	}
	if len(adapters) == 0 {
		return nil, wire.ErrUsage.Errorf("no adapter is given")
	}
	x, err := newBinder(b, base)
	if err != nil {
		return nil, err
	}
	sources, all := []tensor.Model{model.NewStraight(b, base)}, []tensor.Model(nil)
	if err := inputs.Whole(b, base); err != nil {
		return nil, err
	}
	for k := range adapters {
		a := &adapter{Adapter: adapters[k], vocabulary: &x.tokens}
		if err := a.read(b, base); err != nil {
			return nil, err
		}
		if err := x.bind(k, a); err != nil {
			return nil, err
		}
		sources, all = append(sources, model.NewStraight(b, a.Model)), append(all, a.Model)
	}
	return x.merged(b, sources, all)
}

// read reads the configuration and the names of an adapter.
func (a *adapter) read(b *limits.Budget, base tensor.Model) (err error) {
	if math.IsNaN(a.Weight) || math.IsInf(a.Weight, 0) {
		return wire.ErrUsage.Errorf("the weight of an adapter must be finite")
	}
	isGGUF := a.Model.Format() == gguf.Format
	if isGGUF != (base.Format() == gguf.Format) {
		return wire.ErrUnsupported.Errorf("the base is %s, the adapter %s: GGUF adapters are merged into GGUF models, PEFT adapters into transformers models", base.Format(), a.Model.Format())
	}
	if err := inputs.Whole(b, a.Model); err != nil {
		return err
	}
	if isGGUF {
		return a.readGGUF(b, base)
	}
	if a.config, err = readConfig(b, a.Model.Configs()); err != nil {
		return err
	}
	return a.sortTensors(b)
}

// merged creates the resulting model.
func (x *binder) merged(b *limits.Budget, sources, adapters []tensor.Model) (*Merged, error) {
	tensors, err := limits.Make[model.Tensor](b, len(x.infos))
	if err != nil {
		return nil, err
	}
	for i := range x.infos {
		tensors[i] = model.Same(x.base, x.infos[i], x.infos[i].Name)
	}
	var products []*product
	var weights []*weight // the weights of the products
	rooms := model.NewRooms[float32](b, model.PieceElements)
	out := &Merged{}
	// Each piece of a weight needs all of its products, and a worker may still be at the end
	// of the previous weight. With fewer cached products, each piece would load them again.
	held := model.NewHeld(b, 2*max(1, x.most), func(b *limits.Budget, i int) (*matrices, error) {
		p := products[i]
		m, err := p.load(b, sources[1+p.adapter], rooms)
		if err == nil && p.magnitude.Name != "" {
			err = m.computeFactors(b, sources[1+p.adapter], weights[i], rooms)
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
		tensors[i] = model.Made(w.info.Name, w.info.DType, w.info.Shape, w)
		out.count(x, t, w.info.Name)
	}
	for i := range x.added {
		out.Added = append(out.Added, x.added[i].Name)
	}
	out.Added = append(out.Added, x.apart...)
	out.Tied, out.Untied = x.changesTied, len(x.apart) > 0
	slices.Sort(out.Replaced)
	if out.Model, err = x.model(b, tensors, adapters); err != nil {
		return nil, err
	}
	out.Also, out.Vocabulary = held, x.tokens.to
	out.Siblings, err = x.siblings()
	return out, err
}

// count counts a tensor that an adapter changed.
func (m *Merged) count(x *binder, t *target, name string) {
	if len(t.products) > 0 {
		m.Adapted++
	}
	if (t.whole.Name != "" || len(t.rows) > 0) && !slices.Contains(x.apart, name) {
		m.Replaced = append(m.Replaced, name)
	}
}

// model lists the tensors of the result, and those that the base does not have behind them.
func (x *binder) model(b *limits.Budget, tensors []model.Tensor, adapters []tensor.Model) (*model.Model, error) {
	m, err := model.New(b, len(tensors)+len(x.added), x.base, adapters...)
	if err != nil {
		return nil, err
	}
	for _, list := range [...][]model.Tensor{tensors, x.added} {
		for i := range list {
			if err := b.Items(1); err != nil {
				return nil, err
			}
			if err := m.Add(b, list[i]); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// Sink returns the format in which the result is written: that of the base, or safetensors for
// a checkpoint.
func (m *Merged) Sink() convert.Sink {
	if m.Format() == gguf.Format {
		return convert.GGUF{RawNames: true}
	}
	return convert.Safetensors{}
}
