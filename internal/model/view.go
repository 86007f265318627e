package model

import (
	"errors"
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Facts are what a writer needs to know of a model besides its tensors. The Facts of a file are
// zero.
type Facts struct {
	// Bound is what the weights of the base were bound to, if they are decoded when they are
	// read.
	Bound *quant.Bound
	// Unmade are files that could not be made, each with the reason.
	Unmade []string
	// Made says that the metadata were made for the library that reads the result, so that
	// none of it is about the source.
	Made bool
	// Renamed says that tensors are only selected and renamed: their bytes and their layout
	// are those of the base.
	Renamed bool
	// CastsAll says that matrices that were not quantized get the type of those that were.
	CastsAll bool
	// Wide reports which tensors the library has in F32 whatever the type of the others; nil if
	// none.
	Wide func(*tensor.Info) bool
	// Parameters counts the numbers of a model for the index of its files, which the library
	// wants even for one file; nil for the index of transformers, of several files.
	Parameters func(*limits.Budget, tensor.Model) (int64, error)
	// Quantization returns the quantization_config of tensors that stay as they are; nil for none.
	Quantization func(*limits.Budget) ([]byte, error)
	// Rules are those of the library, or nil.
	Rules *Rules
}

// Rules say which tensors a library treats unlike the others.
type Rules = encode.Rules

// Of returns a model as one that is made of others, or nil if it is not. The methods of nil say
// what is true of a file. It is the only type assertion on a model: a type that wraps a [Model]
// embeds it.
func Of(m tensor.Model) *Model {
	if v, ok := m.(interface{ View() *Model }); ok {
		return v.View()
	}
	return nil
}

// View returns m.
func (m *Model) View() *Model { return m }

// Told returns the facts.
func (m *Model) Told() Facts {
	if m == nil {
		return Facts{}
	}
	return m.Facts
}

// Tensor returns the tensor of a name, or nil.
func (m *Model) Tensor(name string) *Tensor {
	if m == nil {
		return nil
	}
	if i, ok := m.names.Find(name); ok {
		return &m.tensors[i]
	}
	return nil
}

// Weight returns the quantized weight that a tensor is decoded from when it is read, or nil.
func (m *Model) Weight(name string) *quant.Weight {
	if t := m.Tensor(name); t != nil {
		return t.Weight
	}
	return nil
}

// Stays reports whether some tensor is copied as it is, whatever becomes of the others.
func (m *Model) Stays() bool { return m != nil && m.stays }

// Select returns the tensors that keep chooses, with everything else of the model. It is not
// to be closed.
func (m *Model) Select(b *limits.Budget, keep func(*Tensor) bool) (*Model, error) {
	out, err := New(b, len(m.tensors), m)
	if err != nil {
		return nil, err
	}
	for i := range m.tensors {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if keep(&m.tensors[i]) {
			if err := out.Add(b, m.tensors[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// The methods below are for the opener of a file and its checks, and are forwarded to the base.

// Verify implements [tensor.Verifier].
func (m *Model) Verify(b *limits.Budget) error {
	if v, ok := m.Model.(tensor.Verifier); ok {
		return v.Verify(b)
	}
	return nil
}

// Place implements [tensor.Placer], as do Placed and Note.
func (m *Model) Place(folder fs.FS, c io.Closer) {
	if p, ok := m.Model.(tensor.Placer); ok {
		p.Place(folder, c)
	}
}

// Placed is what the base was given to close.
func (m *Model) Placed() io.Closer {
	if p, ok := m.Model.(tensor.Placer); ok {
		return p.Placed()
	}
	return nil
}

// Note adds a finding to those of the base.
func (m *Model) Note(b *limits.Budget, f tensor.Finding) error {
	if p, ok := m.Model.(tensor.Placer); ok {
		return p.Note(b, f)
	}
	return errors.ErrUnsupported
}

// PieceOf implements [tensor.Piece].
func (m *Model) PieceOf(files int) {
	if p, ok := m.Model.(tensor.Piece); ok {
		p.PieceOf(files)
	}
}

// Pieces is the number of files of which the base is one.
func (m *Model) Pieces() int {
	if p, ok := m.Model.(tensor.Piece); ok {
		return p.Pieces()
	}
	return 0
}

// inOrder returns the error for a tensor that can only be read in order, if its rows are needed in
// another one.
func inOrder(i *tensor.Info) error {
	return wire.ErrUnsupported.Errorf("tensor %s is in a compressed archive: convert the model to safetensors first", wire.Quote(i.Name))
}
