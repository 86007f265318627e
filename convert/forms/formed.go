package forms

import (
	"bytes"
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A formed is a model in the form of another library, as package family plans it.
type formed struct {
	container string // its format
	tensors   []family.Tensor
	keys      []family.Key
	files     fs.FS
}

// of returns the tensors of a form, which are computed from those of a model when they are
// read. The result owns m.
func (f formed) of(b *limits.Budget, m tensor.Model) (*model.Model, error) {
	out, err := model.New(b, len(f.tensors), m)
	if err != nil {
		return nil, err
	}
	out.Container, out.Siblings, out.Entries = f.container, f.files, entries(f.keys)
	from := newComposer(b, m)
	for i := range f.tensors {
		if err := out.Add(b, from.tensor(&f.tensors[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func entries(keys []family.Key) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, k := range keys {
			if !yield(k.Key, k.Value) {
				return
			}
		}
	}
}

// A composer makes tensors from those of a model.
type composer struct {
	m        tensor.Model
	straight *model.Straight
	view     *model.Model
}

func newComposer(b *limits.Budget, m tensor.Model) *composer {
	return &composer{m, model.NewStraight(b, m), model.Of(m)}
}

// tensor returns what a tensor of a form is made of.
func (p *composer) tensor(t *family.Tensor) model.Tensor {
	info := model.Plain(t.Name, t.DType, t.Shape)
	out := model.Tensor{Info: info, Stays: t.Packed != nil || t.Unpacked != nil}
	if len(t.Parts) > 0 {
		out.Weight = p.view.Weight(t.Parts[0].Info.Name)
	}
	out.Source = &model.Lazy{Tensor: info, Make: func() model.Source { return p.source(info, t) }}
	return out
}

func (p *composer) source(info tensor.Info, t *family.Tensor) model.Source {
	switch {
	case t.Data != nil:
		return &model.Computed{Tensor: info, Open: func() (io.ReaderAt, bool) { return bytes.NewReader(t.Data), true }}
	case t.Packed != nil:
		return &model.Computed{Tensor: info, Open: p.packed(t)}
	case t.Unpacked != nil:
		return &model.Computed{Tensor: info, Open: p.unpacked(t)}
	}
	var list []model.Source
	for i := range t.Parts {
		list = append(list, p.part(t, &t.Parts[i]))
	}
	if t.Zeros > 0 {
		list = append(list, model.Made(t.Name, t.DType, []int64{t.Zeros}, zeros{}).Source)
	}
	if t.Turns > 0 {
		return model.NewTurns(info, p.straight.Rooms(), t.Turns, list...)
	}
	return model.NewConcat(info, list...)
}

// zeros reads as zeros everywhere.
type zeros struct{}

// ReadAt implements [io.ReaderAt].
func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// part selects the rows of a part, reorders them, and casts what is left.
func (p *composer) part(t *family.Tensor, of *family.Part) model.Source {
	s, rooms := p.straight.Source(&of.Info), p.straight.Rooms()
	if of.Rows > 0 {
		s = model.NewRows(s, of.From, of.Rows)
	}
	if of.Head > 0 {
		s = model.NewHeads(s, rooms, of.Head, of.Back)
	}
	return model.NewCast(s, rooms, t.DType, model.Change{Times: of.Times, Add: t.Add, Log: t.Log, Decay: t.Decay, InF32: t.InF32})
}
