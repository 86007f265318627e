package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Concat is several tensors of one type, concatenated.
type Concat struct {
	info  tensor.Info
	parts []Source
}

// NewConcat concatenates tensors to one of a name and a shape.
func NewConcat(info tensor.Info, parts ...Source) *Concat { return &Concat{info, parts} }

// Info implements [Source], as do At, Body and Costly.
func (c *Concat) Info() *tensor.Info { return &c.info }

// At reads at any offset, if all parts can be.
func (c *Concat) At() (io.ReaderAt, bool) {
	r := &concatReader{elem: elemOf(c.info.DType)}
	for _, p := range c.parts {
		of, ok := p.At()
		if !ok {
			return nil, false
		}
		r.parts, r.sizes = append(r.parts, of), append(r.sizes, p.Info().Bytes())
	}
	return r, true
}

// Costly reports whether some part is.
func (c *Concat) Costly() bool { return anyCostly(c.parts) }

func anyCostly(parts []Source) bool {
	for _, p := range parts {
		if p.Costly() {
			return true
		}
	}
	return false
}

type concatReader struct {
	elem  int64
	parts []io.ReaderAt
	sizes []int64
}

// errSplit is the error for a read that is not one of whole elements.
var errSplit = wire.ErrInternal.Errorf("a read splits an element")

// ReadAt implements [io.ReaderAt].
func (c *concatReader) ReadAt(p []byte, off int64) (int, error) {
	if off%c.elem != 0 || int64(len(p))%c.elem != 0 {
		return 0, errSplit
	}
	done, at := 0, int64(0)
	for k, size := range c.sizes {
		if from := off + int64(done) - at; from < size && done < len(p) {
			n := int(min(size-from, int64(len(p)-done)))
			if err := wire.ReadFull(c.parts[k], p[done:done+n], from); err != nil {
				return done, err
			}
			done += n
		}
		at += size
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// Body reads parts at offsets if it can, or else in order, one after the other.
func (c *Concat) Body(b *limits.Budget) (io.ReadCloser, error) {
	if _, ok := c.At(); ok {
		return ranges(c)
	}
	return &concatBody{b: b, parts: c.parts}, nil
}

type concatBody struct {
	b     *limits.Budget
	parts []Source // that are not read yet
	body  io.ReadCloser
}

// Read reads whole elements.
func (c *concatBody) Read(p []byte) (int, error) {
	for len(c.parts) > 0 {
		if c.body == nil {
			var err error
			if c.body, err = c.parts[0].Body(c.b); err != nil {
				return 0, err
			}
		}
		n, err := c.body.Read(p)
		if err == io.EOF {
			err = c.Close()
			c.parts = c.parts[1:]
			if n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
	return 0, io.EOF
}

// Close closes the current part.
func (c *concatBody) Close() error {
	if c.body == nil {
		return nil
	}
	body := c.body
	c.body = nil
	return body.Close()
}
