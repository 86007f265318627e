package dcp

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A body reads a tensor of several parts in order, row-major: runs of elements that follow each
// other in a part, as long as they are.
type body struct {
	f    *File
	b    *limits.Budget
	it   *item
	elem int64
	size int64 // in bytes
	at   int64 // offset of the next byte
}

func newBody(f *File, b *limits.Budget, it *item, i tensor.Info) *body {
	g, _ := i.DType.Geometry()
	return &body{f: f, b: b, it: it, elem: int64(g.Bytes), size: i.Span.Len}
}

func (r *body) Close() error { return nil }

// Read reads as many runs as fit, and charges a step for each.
func (r *body) Read(p []byte) (n int, err error) {
	if r.at == r.size {
		return 0, io.EOF
	}
	if err := r.b.Err(); err != nil {
		return 0, err
	}
	for len(p) > n && r.at < r.size {
		if err := r.b.Step(1); err != nil {
			return n, err
		}
		run, err := r.run(p[n:])
		if err != nil {
			return n, wire.At(Format, whereOf(r.it.name), wire.NoOffset, err)
		}
		n, r.at = n+run, r.at+int64(run)
	}
	return n, nil
}

// run reads elements that follow each other in the part with the next one.
func (r *body) run(p []byte) (int, error) {
	var room [maxDims]int64
	at := room[:len(r.it.shape)]
	rest := r.at / r.elem
	for k := len(at) - 1; k >= 0; k-- {
		at[k], rest = rest%r.it.shape[k], rest/r.it.shape[k]
	}
	c := &r.it.chunks[r.it.grid.find(at)]
	first, count := c.run(at, r.it.shape)
	skip := r.at % r.elem
	n := min(count*r.elem-skip, int64(len(p)))
	return int(n), wire.ReadFull(r.f.handles[c.file], p[:n], c.info.Span.Off+first*r.elem+skip)
}

// run returns the position of an element in the storage of a part, and how many follow it there as they
// follow it in the tensor of the given shape.
func (c *chunk) run(at, shape []int64) (first, count int64) {
	first, count = c.info.Offset, 1
	whole := true      // what follows these indices in the tensor follows them in the part, too
	stride := int64(1) // of a part that is row-major
	line := int64(0)   // position among the elements of the dimensions from k on
	for k := len(at) - 1; k >= 0; k-- {
		in, size, step := at[k]-c.offsets[k], c.sizes[k], stride
		if c.info.Strides != nil {
			step = c.info.Strides[k]
		}
		first += in * step
		if whole = whole && (step == stride || size == 1); whole {
			line += in * stride
			count = size*stride - line
			whole = size == shape[k]
		}
		stride *= size
	}
	return first, count
}
