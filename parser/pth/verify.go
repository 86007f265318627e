package pth

import (
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// Verify checks what Decode does not: the checksum of every record, and the indices of
// sparse tensors, which must be in range and in order.
func (f *File) Verify(b *limits.Budget) error {
	if f.archive != nil {
		if err := f.archive.Verify(b); err != nil {
			return err
		}
	}
	return f.VerifyIndices(b)
}

// Container returns the archive, nil for a legacy file.
func (f *File) Container() *zip.Archive {
	if f.archive == nil {
		return nil
	}
	return f.archive.Archive
}

// VerifyIndices is the part of [File.Verify] that checks sparse tensors.
func (f *File) VerifyIndices(b *limits.Budget) error {
	steps := b.Steps()
	for i := range f.sparse {
		s := &f.sparse[i]
		var err error
		if s.layout.coo() {
			err = f.verifyCoordinates(b, &steps, s)
		} else {
			err = f.verifyCompressed(b, &steps, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyCoordinates checks indices of shape [sparse dimensions, count].
func (f *File) verifyCoordinates(b *limits.Budget, steps *limits.Steps, s *sparseCheck) error {
	info := &f.Infos[s.first]
	dims, count := int(info.Shape[0]), info.Shape[1]
	release, err := b.Lease(int64(dims) * (indexBuf + 2*8))
	defer release()
	if err != nil {
		return f.indexError(info, info.Span.Off, err)
	}
	var rows [maxDims]*indices
	var last [maxDims]int64
	for d := range dims {
		rows[d] = f.indices(info, steps, []int64{int64(d)})
	}
	for k := range count {
		ahead := false // an earlier dimension has increased
		for d := range dims {
			n, err := rows[d].next()
			if err == nil && (n < 0 || n >= s.shape[d]) {
				err = wire.ErrRange.WithRule("pth.sparse-index").Errorf("index %d in a dimension of %d", n, s.shape[d])
			}
			if err == nil && s.coalesced && k > 0 && !ahead {
				ahead = n > last[d]
				if n < last[d] || !ahead && d == dims-1 {
					err = wire.ErrMismatch.WithRule("pth.sparse-order").Errorf("indices are marked as coalesced but are out of order")
				}
			}
			if err != nil {
				return f.indexError(info, rows[d].off, err)
			}
			last[d] = n
		}
	}
	return nil
}

// verifyCompressed checks the two index tensors of each matrix of the batch.
func (f *File) verifyCompressed(b *limits.Budget, steps *limits.Steps, s *sparseCheck) error {
	compressed, plain, values := &f.Infos[s.first], &f.Infos[s.first+1], &f.Infos[s.first+2]
	release, err := b.Lease(2 * indexBuf)
	defer release()
	if err != nil {
		return f.indexError(compressed, compressed.Span.Off, err)
	}
	batch := len(compressed.Shape) - 1
	size := s.plainSize(values.Shape, batch)
	at, err := limits.Make[int64](b, batch)
	if err != nil {
		return f.indexError(compressed, compressed.Span.Off, err)
	}
	if n, _ := wire.Product(s.shape[:batch]); n == 0 {
		return nil
	}
	for {
		if err := f.verifyMatrix(steps, compressed, plain, at, size); err != nil {
			return err
		}
		if !advance(at, s.shape) {
			return nil
		}
	}
}

// advance increments an index of the batch, and reports whether there is one more.
func advance(at, shape []int64) bool {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d]++; at[d] < shape[d] {
			return true
		}
		at[d] = 0
	}
	return false
}

func (f *File) verifyMatrix(steps *limits.Steps, compressed, plain *tensor.Info, at []int64, size int64) error {
	rows, cols := f.indices(compressed, steps, at), f.indices(plain, steps, at)
	count := plain.Shape[len(at)]
	prev, err := rows.next()
	if err == nil && prev != 0 {
		err = wire.ErrRange.WithRule("pth.sparse-index").Errorf("the first compressed index is %d, expected 0", prev)
	}
	for range compressed.Shape[len(at)] - 1 {
		if err != nil {
			return f.indexError(compressed, rows.off, err)
		}
		var end int64
		if end, err = rows.next(); err == nil && (end < prev || end-prev > size || end > count) {
			err = wire.ErrRange.WithRule("pth.sparse-index").Errorf("compressed index %d after %d, with rows of %d and %d indices", end, prev, size, count)
		}
		if err != nil {
			return f.indexError(compressed, rows.off, err)
		}
		if err := verifyRow(cols, end-prev, size); err != nil {
			return f.indexError(plain, cols.off, err)
		}
		prev = end
	}
	if err == nil && prev != count {
		err = wire.ErrMismatch.WithRule("pth.sparse-order").Errorf("the last compressed index is %d, but there are %d indices", prev, count)
	}
	if err != nil {
		return f.indexError(compressed, rows.off, err)
	}
	return nil
}

// verifyRow checks that the indices of one row are in range and increase.
func verifyRow(cols *indices, count, size int64) error {
	last := int64(-1)
	for range count {
		n, err := cols.next()
		switch {
		case err != nil:
			return err
		case n < 0 || n >= size:
			return wire.ErrRange.WithRule("pth.sparse-index").Errorf("index %d in a dimension of %d", n, size)
		case n <= last:
			return wire.ErrMismatch.WithRule("pth.sparse-order").Errorf("index %d after %d in one row", n, last)
		}
		last = n
	}
	return nil
}

func (f *File) indexError(info *tensor.Info, off int64, err error) error {
	return fail("tensor "+wire.Quote(info.Name), off, err)
}

// indexBuf is the size of the window on one run of indices.
const indexBuf = 4 << 10

// indices reads the last dimension of an index tensor in order.
type indices struct {
	r     io.ReaderAt
	steps *limits.Steps
	order binary.ByteOrder
	size  int64
	at    int64 // index of the next
	step  int64
	off   int64 // offset of the last
	end   int64
	buf   [indexBuf]byte
	base  int64
	have  int64
}

// indices reads the last dimension from the given position in the others.
func (f *File) indices(info *tensor.Info, steps *limits.Steps, at []int64) *indices {
	out := &indices{r: f.Source, steps: steps, order: binary.LittleEndian, size: 8, end: info.Span.End()}
	if info.Order == tensor.Big {
		out.order = binary.BigEndian
	}
	if info.DType == tensor.I32 {
		out.size = 4
	}
	last := len(info.Shape) - 1
	first, run := info.Offset, int64(1)
	if info.Strides != nil {
		run = info.Strides[last]
		for d := range last {
			first += at[d] * info.Strides[d]
		}
	} else {
		width := info.Shape[last]
		for d := last - 1; d >= 0; d-- {
			first += at[d] * width
			width *= info.Shape[d]
		}
	}
	out.at, out.step = info.Span.Off+first*out.size, run*out.size
	return out
}

func (x *indices) next() (int64, error) {
	if err := x.steps.Step(); err != nil {
		return 0, err
	}
	x.off = x.at
	if x.at < x.base || x.at+x.size > x.base+x.have {
		n := x.size
		if x.step <= indexBuf/8 {
			n = min(indexBuf, x.end-x.at)
		}
		if err := wire.ReadFull(x.r, x.buf[:n], x.at); err != nil {
			return 0, err
		}
		x.base, x.have = x.at, n
	}
	p := x.buf[x.at-x.base:]
	x.at += x.step
	if x.size == 4 {
		return int64(int32(x.order.Uint32(p))), nil
	}
	return int64(x.order.Uint64(p)), nil
}
