package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Source gives the bytes of one tensor, in the layout that its Info states.
type Source interface {
	// Info has the type, shape and layout. The name is what messages call the tensor: that
	// of the file it is read from, if it is read from one.
	Info() *tensor.Info
	// At reads whole elements at any offset. It is false for a tensor that can only be read
	// in order, or much faster so.
	At() (io.ReaderAt, bool)
	// Body reads all of it in order, whole elements at a time.
	Body(*limits.Budget) (io.ReadCloser, error)
	// Costly reports whether a read costs much more than its bytes, as that of a row which
	// is decoded first. Whoever needs rows in another order then reads many at once.
	Costly() bool
}

// Stored is a tensor as it is stored in a model.
type Stored struct {
	Model  tensor.Model
	Tensor tensor.Info
}

// Same is a stored tensor under a name.
func Same(m tensor.Model, i tensor.Info, name string) Tensor {
	t := Tensor{Info: i, Source: &Stored{m, i}}
	t.Name = name
	return t
}

// Info implements [Source], as do At, Body and Costly.
func (s *Stored) Info() *tensor.Info { return &s.Tensor }

// At reads at any offset.
func (s *Stored) At() (io.ReaderAt, bool) { return s.Model.At(s.Tensor) }

// Body reads in order.
func (s *Stored) Body(b *limits.Budget) (io.ReadCloser, error) { return s.Model.Body(b, s.Tensor) }

// Costly is false.
func (*Stored) Costly() bool { return false }

// Computed is a tensor whose bytes are computed: row-major and little-endian, in ranges of
// whole elements.
type Computed struct {
	Tensor tensor.Info
	Bytes  io.ReaderAt
}

// Made is a computed tensor.
func Made(name string, d tensor.DType, shape []int64, r io.ReaderAt) Tensor {
	i := plain(name, d, shape)
	return Tensor{Info: i, Source: &Computed{i, r}}
}

// plain describes a tensor that is row-major and little-endian.
func plain(name string, d tensor.DType, shape []int64) tensor.Info {
	i := tensor.Info{Name: name, DType: d, Shape: shape}
	i.Span.Len = i.Bytes()
	return i
}

// Info implements [Source], as do At, Body and Costly.
func (c *Computed) Info() *tensor.Info { return &c.Tensor }

// At computes a range.
func (c *Computed) At() (io.ReaderAt, bool) { return c.Bytes, true }

// Body computes all ranges in order.
func (c *Computed) Body(*limits.Budget) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(c.Bytes, 0, c.Tensor.Span.Len)), nil
}

// Costly is false.
func (*Computed) Costly() bool { return false }
