package grid

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A Stored part is one and where its elements are.
type Stored struct {
	*Part
	R       io.ReaderAt
	Off     int64   // of its storage in R
	Strides []int64 // in elements; nil means row-major
	First   int64   // place of its first element in the storage
}

// A Body reads a tensor of several parts in order, row-major: runs of elements that follow each
// other in a part, as long as they are.
type Body struct {
	Grid   *Grid
	Shape  []int64
	Elem   int64 // bytes of an element
	Size   int64 // bytes of the tensor
	Part   func(int32) Stored
	Budget *limits.Budget
	Fail   func(error) error // places an error

	at int64 // offset of the next byte
}

// Close does nothing.
func (r *Body) Close() error { return nil }

// Read reads as many runs as fit, and charges a step for each.
func (r *Body) Read(p []byte) (n int, err error) {
	if r.at == r.Size {
		return 0, io.EOF
	}
	if err := r.Budget.Err(); err != nil {
		return 0, err
	}
	for len(p) > n && r.at < r.Size {
		if err := r.Budget.Step(1); err != nil {
			return n, err
		}
		run, err := r.run(p[n:])
		if err != nil {
			return n, r.Fail(err)
		}
		n, r.at = n+run, r.at+int64(run)
	}
	return n, nil
}

// run reads elements that follow each other in the part with the next one.
func (r *Body) run(p []byte) (int, error) {
	var room [MaxDims]int64
	at := room[:len(r.Shape)]
	rest := r.at / r.Elem
	for k := len(at) - 1; k >= 0; k-- {
		at[k], rest = rest%r.Shape[k], rest/r.Shape[k]
	}
	c := r.Part(r.Grid.Find(at))
	first, count := c.Run(at, r.Shape)
	skip := r.at % r.Elem
	n := min(count*r.Elem-skip, int64(len(p)))
	return int(n), wire.ReadFull(c.R, p[:n], c.Off+first*r.Elem+skip)
}

// Run returns the place of an element in the storage of a part, and how many follow it there as they
// follow it in the tensor of the given shape.
func (c *Stored) Run(at, shape []int64) (first, count int64) {
	first, count = c.First, 1
	whole := true      // what follows these indices in the tensor follows them in the part, too
	stride := int64(1) // of a part that is row-major
	line := int64(0)   // position among the elements of the dimensions from k on
	for k := len(at) - 1; k >= 0; k-- {
		in, size, step := at[k]-c.Offsets[k], c.Sizes[k], stride
		if c.Strides != nil {
			step = c.Strides[k]
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
