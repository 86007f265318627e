package onnx

import (
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/narrow"
	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// open returns the elements of a tensor, as they are read.
func (f *File) open(b *limits.Budget, e *entry) (io.Reader, error) {
	if e.place == sparse {
		return f.openSparse(b, e)
	}
	r, err := f.openStored(b, e)
	if err != nil || !e.of().packed() {
		return r, err
	}
	return narrow.NewReader(b, r, uint(e.of().bits), e.of().dtype == tensor.I8, e.elements())
}

// openStored returns the elements as raw_data has them.
func (f *File) openStored(b *limits.Budget, e *entry) (io.Reader, error) {
	if e.place != inField {
		src, err := f.source(e)
		if err != nil {
			return nil, err
		}
		of := tensor.File{Name: Format, Source: src}
		return of.Body(b, tensor.Info{DType: tensor.U8, Span: e.span})
	}
	c := wire.NewCursor(b, Format, f.Source, f.size)
	if err := c.MoveTo(e.span.Off); err != nil {
		return nil, err
	}
	c, err := c.Sub(uint64(e.span.Len))
	if err != nil {
		return nil, err
	}
	t := e.of()
	v := &fromField{width: int(max(t.bits, 8) / 8 / max(t.parts, 1)), left: t.numbers(e.elements())}
	kind := pb.Number
	switch t.field {
	case fieldFloats:
		kind = pb.Fixed32
	case fieldDoubles:
		kind = pb.Fixed64
	}
	v.values = pb.NewReader(b, "ONNX 1.23", causes).Values(c, t.field, kind)
	return v, nil
}

// fromField reads the numbers of a field as raw_data would have them.
type fromField struct {
	values *pb.Values
	width  int
	left   int64
	rest   []byte // of a number
	one    [8]byte
}

func (r *fromField) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) == 0 {
			if r.left == 0 {
				break
			}
			v, ok, err := r.values.Next()
			if err == nil && !ok {
				err = wire.ErrTruncated.Errorf("%d numbers are missing", r.left)
			}
			if err != nil {
				return n, err
			}
			binary.LittleEndian.PutUint64(r.one[:], v)
			r.rest = r.one[:r.width]
			r.left--
		}
		k := copy(p[n:], r.rest)
		n, r.rest = n+k, r.rest[k:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// openSparse returns a sparse tensor with its zeros.
func (f *File) openSparse(b *limits.Budget, e *entry) (io.Reader, error) {
	values, err := f.openStored(b, &e.values[0])
	if err != nil {
		return nil, err
	}
	places, err := f.openStored(b, &e.values[1])
	if err != nil {
		return nil, err
	}
	s := &scattered{b: b, steps: b.Steps(), values: values, places: places, width: int64(e.of().bits / 8), size: e.elements(), next: -1, left: e.values[0].elements(), axes: []int64{e.elements()}}
	if len(e.values[1].shape) == 2 {
		s.axes = e.shape
	}
	return s, nil
}

// scattered reads a sparse tensor. Places must ascend, as ONNX states.
type scattered struct {
	b              *limits.Budget
	steps          limits.Steps
	values, places io.Reader
	axes           []int64 // sizes of what a place is made of
	width          int64
	at, size       int64 // elements read, and all
	next           int64 // place of the next value, if it is at or after at
	left           int64 // values whose places were not read
	rest           []byte
	one            [16]byte
}

func (r *scattered) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) == 0 {
			if r.at == r.size && r.left == 0 {
				break
			}
			if err := r.advance(); err != nil {
				return n, narrow.Unexpected(err)
			}
		}
		k := copy(p[n:], r.rest)
		n, r.rest = n+k, r.rest[k:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// advance reads the next element.
func (r *scattered) advance() error {
	if err := r.steps.Step(); err != nil {
		return err
	}
	if r.next < r.at && r.left > 0 {
		next, err := r.place()
		if err != nil {
			return err
		}
		if next <= r.next {
			return wire.ErrSyntax.WithRule("onnx.sparse-order").Errorf("the place %d after %d: places ascend", next, r.next)
		}
		r.next = next
		r.left--
	}
	r.rest = r.one[:r.width]
	clear(r.rest)
	if r.next == r.at {
		if _, err := io.ReadFull(r.values, r.rest); err != nil {
			return err
		}
	}
	r.at++
	return nil
}

// place reads the place of a value.
func (r *scattered) place() (int64, error) {
	at := int64(0)
	for _, size := range r.axes {
		var p [8]byte
		if _, err := io.ReadFull(r.places, p[:]); err != nil {
			return 0, err
		}
		x := int64(binary.LittleEndian.Uint64(p[:]))
		if x < 0 || x >= size {
			return 0, wire.ErrRange.WithRule("onnx.sparse-place").Errorf("the place %d on an axis of %d", x, size)
		}
		at = at*size + x
	}
	return at, nil
}
