package model

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Tensor is one of a model that is made of others: a name, type, shape and layout, and
// what its bytes are made of.
type Tensor struct {
	tensor.Info
	Source Source
	// Weight is the quantized weight that it is decoded from when it is read, or nil.
	Weight *quant.Weight
	// Stays says that it is copied as it is, whatever becomes of the others.
	Stays bool
}

// A Model is a base with other tensors. Format, metadata, findings and sibling files are
// those of the base, unless the fields say otherwise.
type Model struct {
	tensor.Model
	Facts
	// Container is the format if it is not that of the base.
	Container string
	// Entries are the metadata if they are not those of the base.
	Entries iter.Seq2[string, any]
	// Siblings are the sibling files if they are not those of the base.
	Siblings fs.FS
	// Also is closed with the model, before the models that it is made of. It may be nil.
	Also io.Closer

	tensors []Tensor
	names   *wire.NameSet
	made    []tensor.Model
	stays   bool // some tensor does
}

// New returns a model without tensors, for which [Model.Add] will be called n times. It owns
// the models that it is made of, of which base is the first: closing it closes them.
func New(b *limits.Budget, n int, base tensor.Model, others ...tensor.Model) (*Model, error) {
	m := &Model{Model: base, made: append([]tensor.Model{base}, others...)}
	var err error
	if m.tensors, err = limits.Make[Tensor](b, n); err != nil {
		return nil, err
	}
	m.tensors = m.tensors[:0]
	m.names, err = wire.NewNameSet(b, n, func(i int) string { return m.tensors[i].Name })
	return m, err
}

// Add adds a tensor after the others. Two of one name are refused.
func (m *Model) Add(b *limits.Budget, t Tensor) (err error) {
	if m.tensors, err = limits.Append(b, m.tensors, t); err != nil {
		return err
	}
	m.stays = m.stays || t.Stays
	at, added, err := m.names.Add(len(m.tensors) - 1)
	if err != nil || added {
		return err
	}
	was, also := m.tensors[at].Source.Info().Name, t.Source.Info().Name
	if was == also {
		return wire.ErrDuplicate.Errorf("two tensors are to be named %s", wire.Quote(t.Name))
	}
	return wire.ErrDuplicate.Errorf("tensors %s and %s would both be called %s", wire.Quote(was), wire.Quote(also), wire.Quote(t.Name))
}

// Sources lists the models that it is made of.
func (m *Model) Sources() []tensor.Model { return m.made }

// Format implements [tensor.Model].
func (m *Model) Format() string { return cmp.Or(m.Container, m.Model.Format()) }

// Meta implements [tensor.Model].
func (m *Model) Meta() iter.Seq2[string, any] {
	if m.Entries != nil {
		return m.Entries
	}
	return m.Model.Meta()
}

// Configs implements [tensor.Model].
func (m *Model) Configs() fs.FS {
	if m.Siblings != nil {
		return m.Siblings
	}
	return m.Model.Configs()
}

// Len implements [tensor.Model].
func (m *Model) Len() int { return len(m.tensors) }

// Tensors implements [tensor.Model].
func (m *Model) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range m.tensors {
			if !yield(m.tensors[i].Info) {
				return
			}
		}
	}
}

// At implements [tensor.Model].
func (m *Model) At(i tensor.Info) (io.ReaderAt, bool) {
	t := m.Tensor(i.Name)
	if t == nil {
		return nil, false
	}
	return t.Source.At()
}

// Body implements [tensor.Model].
func (m *Model) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	t := m.Tensor(i.Name)
	if t == nil {
		return nil, wire.ErrInternal.Errorf("no tensor %s", wire.Quote(i.Name))
	}
	return t.Source.Body(b)
}

// Close implements [tensor.Model].
func (m *Model) Close() error {
	var err error
	if m.Also != nil {
		err = m.Also.Close()
	}
	for _, s := range m.made {
		err = errors.Join(err, s.Close())
	}
	return err
}
