// Package derive is models whose tensors are those of other models: under another
// name, or made of several while they are read.
//
// Nothing of a tensor is held: what is made is asked for in ranges, as a file is.
package derive

import (
	"errors"
	"io"
	"io/fs"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Tensor is one of a derived model.
type Tensor struct {
	tensor.Info
	// Source is the tensor of From that it is under another name; not asked for where
	// Make is not nil.
	Source tensor.Info
	From   tensor.Model
	// Make gives the bytes of a tensor that no model holds, row-major and
	// little-endian. Ranges are of whole elements.
	Make io.ReaderAt
}

// Same is a tensor as it is, under a name.
func Same(m tensor.Model, i tensor.Info, name string) Tensor {
	t := Tensor{Info: i, Source: i, From: m}
	t.Name = name
	return t
}

// Made is a tensor whose bytes r gives.
func Made(name string, d tensor.DType, shape []int64, r io.ReaderAt) Tensor {
	t := Tensor{Info: tensor.Info{Name: name, DType: d, Shape: shape}, Make: r}
	t.Span.Len = t.Bytes()
	return t
}

// A Model is a base with other tensors: format, metadata, findings and sibling files
// are the base's.
type Model struct {
	tensor.Model
	tensors []Tensor
	names   *wire.NameSet
	sources []tensor.Model
	// Also is closed with the model, before its sources; it may be nil.
	Also io.Closer
	// Siblings are the sibling files, where they are not the base's.
	Siblings fs.FS
}

// Configs implements [tensor.Model].
func (m *Model) Configs() fs.FS {
	if m.Siblings != nil {
		return m.Siblings
	}
	return m.Model.Configs()
}

// New gives a model of these tensors, in this order. It takes the base and all other
// sources over: closing it closes them. Two tensors of one name are refused.
func New(b *limits.Budget, base tensor.Model, tensors []Tensor, others ...tensor.Model) (*Model, error) {
	m := &Model{Model: base, tensors: tensors, sources: append([]tensor.Model{base}, others...)}
	var err error
	if m.names, err = wire.NewNameSet(b, len(tensors), func(i int) string { return tensors[i].Name }); err != nil {
		return nil, err
	}
	for i := range tensors {
		if err := b.Items(1); err != nil {
			return nil, err
		}
		if _, added, err := m.names.Add(i); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.Errorf("two tensors are to be named %s", wire.Quote(tensors[i].Name))
		}
	}
	return m, nil
}

// Sources lists the models that are read.
func (m *Model) Sources() []tensor.Model { return m.sources }

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

func (m *Model) find(name string) (*Tensor, error) {
	i, ok := m.names.Find(name)
	if !ok {
		return nil, wire.ErrInternal.Errorf("no tensor %s", wire.Quote(name))
	}
	return &m.tensors[i], nil
}

// At implements [tensor.Model].
func (m *Model) At(i tensor.Info) (io.ReaderAt, bool) {
	t, err := m.find(i.Name)
	switch {
	case err != nil:
		return nil, false
	case t.Make != nil:
		return t.Make, true
	default:
		return t.From.At(t.Source)
	}
}

// Body implements [tensor.Model].
func (m *Model) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	t, err := m.find(i.Name)
	switch {
	case err != nil:
		return nil, err
	case t.Make != nil:
		return io.NopCloser(io.NewSectionReader(t.Make, 0, t.Span.Len)), nil
	default:
		return t.From.Body(b, t.Source)
	}
}

// Close implements [tensor.Model].
func (m *Model) Close() error {
	var err error
	if m.Also != nil {
		err = m.Also.Close()
	}
	for _, s := range m.sources {
		err = errors.Join(err, s.Close())
	}
	return err
}
