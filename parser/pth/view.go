package pth

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxDims bounds the rank of a tensor. torch's kernels take at most 64 dimensions
// (at::TensorIterator), far more than checkpoints use.
const maxDims = 64

// A view is the geometry of a tensor over its storage, in elements.
type view struct {
	offset  int64
	shape   []int64
	strides []int64
}

// elements proves that the view lies within a storage of count elements and returns how
// many elements it has. Strides may have any value that is not negative: zero,
// overlapping, in any order. A view without elements reads nothing, so any offset is
// allowed, as in torch.
func (v *view) elements(count uint64) (uint64, error) {
	if err := v.check(); err != nil {
		return 0, err
	}
	n, ok := wire.Product(v.shape)
	if !ok {
		return 0, wire.ErrOverflow.WithRule("pth.shape-overflow").Errorf("shape of more than 2^63-1 elements")
	}
	if n == 0 {
		return 0, nil
	}
	last := uint64(v.offset)
	for i, size := range v.shape {
		step, ok := wire.Mul(uint64(size-1), uint64(v.strides[i]))
		if ok {
			last, ok = wire.Add(last, step)
		}
		if !ok {
			return 0, wire.ErrOverflow.WithRule("pth.shape-overflow").Errorf("dimension %d of %d elements with stride %d", i, size, v.strides[i])
		}
	}
	if last >= count {
		return 0, wire.ErrRange.WithRule("pth.view-outside").Errorf("the last element is number %d, but the storage has %d", last, count)
	}
	return n, nil
}

func (v *view) check() error {
	switch {
	case len(v.shape) != len(v.strides):
		return wire.ErrMismatch.WithRule("pth.view-rank").Errorf("%d dimensions, %d strides", len(v.shape), len(v.strides))
	case v.offset < 0:
		return wire.ErrRange.WithRule("pth.view-negative").Errorf("offset %d", v.offset)
	}
	for i, size := range v.shape {
		if size < 0 || v.strides[i] < 0 {
			return wire.ErrRange.WithRule("pth.view-negative").Errorf("dimension %d has size %d and stride %d", i, size, v.strides[i])
		}
	}
	return nil
}

// rowMajor reports whether the elements are contiguous in the order of the indices.
// Strides of dimensions of size 1 do not matter.
func (v *view) rowMajor() bool {
	want := int64(1)
	for i := len(v.shape) - 1; i >= 0; i-- {
		switch size := v.shape[i]; {
		case size == 0:
			return true
		case size != 1:
			if v.strides[i] != want {
				return false
			}
			want *= size
		}
	}
	return true
}
