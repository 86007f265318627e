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
	// is decoded first. A caller that needs rows in another order then reads many at once.
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
	// Open returns what computes them; false if what it reads can only be read in order.
	Open func() (io.ReaderAt, bool)
}

// Made is a tensor whose bytes r computes.
func Made(name string, d tensor.DType, shape []int64, r io.ReaderAt) Tensor {
	i := Plain(name, d, shape)
	return Tensor{Info: i, Source: &Computed{i, func() (io.ReaderAt, bool) { return r, true }}}
}

// Plain describes a tensor that is row-major and little-endian.
func Plain(name string, d tensor.DType, shape []int64) tensor.Info {
	i := tensor.Info{Name: name, DType: d, Shape: shape}
	i.Span.Len = i.Bytes()
	return i
}

// Info implements [Source], as do At, Body and Costly.
func (c *Computed) Info() *tensor.Info { return &c.Tensor }

// At computes a range.
func (c *Computed) At() (io.ReaderAt, bool) { return c.Open() }

// Body computes all ranges in order.
func (c *Computed) Body(*limits.Budget) (io.ReadCloser, error) { return ranges(c) }

// Costly is false.
func (*Computed) Costly() bool { return false }

// ranges reads a source in order that can be read at any offset.
func ranges(s Source) (io.ReadCloser, error) {
	r, ok := s.At()
	if !ok {
		return nil, inOrder(s.Info())
	}
	i := s.Info()
	return &rangeBody{r: r, elem: elemOf(i.DType), size: i.Bytes()}, nil
}

// elemOf returns the bytes of an element, or of a block.
func elemOf(d tensor.DType) int64 {
	g, _ := d.Geometry()
	return int64(g.Bytes)
}

// A rangeBody reads whole elements.
type rangeBody struct {
	r              io.ReaderAt
	elem, at, size int64
}

// Read reads whole elements.
func (b *rangeBody) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), b.size-b.at)
	n -= n % max(1, b.elem)
	got, err := b.r.ReadAt(p[:n], b.at)
	b.at += int64(got)
	return got, err
}

// Close does nothing.
func (*rangeBody) Close() error { return nil }

// Lazy is a tensor whose source is made on each use, and not kept, so that a plan of many parts
// holds only their descriptions.
type Lazy struct {
	Tensor tensor.Info
	Make   func() Source
}

// Info implements [Source], as do At, Body and Costly.
func (l *Lazy) Info() *tensor.Info { return &l.Tensor }

// At reads at any offset.
func (l *Lazy) At() (io.ReaderAt, bool) { return l.Make().At() }

// Body reads in order.
func (l *Lazy) Body(b *limits.Budget) (io.ReadCloser, error) { return l.Make().Body(b) }

// Costly is that of the source.
func (l *Lazy) Costly() bool { return l.Make().Costly() }
