package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Strided is a tensor whose elements do not lie in row-major order, and how it is read.
//
// The last dimensions that are close together in the storage form a block, which is read
// at once, gaps included; several blocks are read at once if they are close to each
// other. If elements are far apart, the view is a transposed matrix: a small storage is
// held whole, and a large one is read in strips. A strip has some elements of the
// dimension whose elements are adjacent in the storage, for each index of the dimensions
// after it.
type Strided struct {
	of     tensor.Info
	elem   int64 // bytes of an element
	from   int   // first dimension of a block
	block  int64 // elements of a block
	cover  int64 // elements of the storage that a block spans
	group  int64 // blocks that are read at once
	strip  int   // the dimension whose elements are adjacent in the storage, or -1
	inner  int64 // elements in the dimensions after it
	across int64 // of these, how many are in a strip
}

// A Room returns memory for n bytes from an offset of a file, valid until the next call.
type Room func(off, n int64) ([]byte, error)

// Tile is the size of the memory that a reader has for what it does not want as it is stored.
const Tile = 1 << 20

const (
	wasteful  = 4        // at most this many times the needed bytes are read
	shortRead = 512      // bytes below which the call costs more than the bytes
	smallView = 64 << 20 // size of a storage that is held rather than read in strips
	stripSize = 4 << 20  // size of a strip
)

// NewStrided decides how a view is read; hold means that all of its storage must be in
// memory.
func NewStrided(info *tensor.Info) (v Strided, hold bool, err error) {
	g, _ := info.DType.Geometry()
	if g.Elems != 1 {
		return v, false, wire.ErrUnsupported.Errorf("a view of %v that is not row-major", info.DType)
	}
	v = Strided{of: *info, elem: int64(g.Bytes), strip: -1}
	v.blocks()
	if v.group > 1 || v.from == 0 || v.block*v.elem >= shortRead {
		return v, false, nil
	}
	return v, info.Span.Len <= smallView || !v.strips(), nil
}

// blocks extends the block over dimensions, while it is small and dense.
func (t *Strided) blocks() {
	t.from, t.block, t.cover, t.group = len(t.of.Shape), 1, 1, 1
	for d := len(t.of.Shape) - 1; d >= 0; d-- {
		n, s := t.of.Shape[d], t.of.Strides[d]
		if n == 0 {
			return
		}
		near := s <= wasteful*t.block
		cover := t.cover + (n-1)*s
		if !near || cover*t.elem > Tile || n*t.block*t.elem > Tile {
			if near && s > 0 {
				t.group = max(1, (Tile/t.elem-t.cover)/s)
			} else if near {
				t.group = max(1, Tile/t.elem/t.block)
			}
			return
		}
		t.from, t.block, t.cover = d, n*t.block, cover
	}
}

// strips finds the dimension whose elements are adjacent.
func (t *Strided) strips() bool {
	t.inner = 1
	for d := len(t.of.Shape) - 1; d >= 0; d-- {
		if t.of.Strides[d] == 1 && t.of.Shape[d] > 1 {
			t.across = min(stripSize/t.elem/t.inner, t.of.Shape[d])
			if t.across*t.elem < shortRead/2 {
				return false
			}
			t.strip = d
			return true
		}
		inner, ok := wire.Mul(uint64(t.inner), uint64(t.of.Shape[d]))
		if !ok || inner > stripSize {
			return false
		}
		t.inner = int64(inner)
	}
	return false
}

// Read reads the elements [lo, hi) from the storage.
func (t *Strided) Read(b *limits.Budget, r io.ReaderAt, room Room, dst []byte, lo, hi int64) error {
	if t.strip < 0 {
		return t.readBlocks(r, room, dst, lo, hi)
	}
	line := t.of.Shape[t.strip] * t.inner // a strip stays within one
	for e := lo; e < hi; {
		end := min((e/line+1)*line, hi)
		if e%t.inner != 0 || end%t.inner != 0 {
			return wire.ErrUnsupported.Errorf("a part of a view whose elements are far apart")
		}
		if err := t.readStrip(b, r, room, dst[(e-lo)*t.elem:(end-lo)*t.elem], e, end); err != nil {
			return err
		}
		e = end
	}
	return nil
}

// piece returns how many bytes of elements can be read at once with a buffer of a tile.
func (t *Strided) piece() int64 {
	if t.strip < 0 {
		return Tile
	}
	line := t.inner * t.elem
	return max(line, Tile/line*line)
}

// readBlocks reads blocks in groups, as long as they follow each other along the
// dimension before them.
func (t *Strided) readBlocks(r io.ReaderAt, room Room, dst []byte, lo, hi int64) error {
	line, stride := t.block, int64(0)
	if t.from > 0 {
		line *= t.of.Shape[t.from-1]
		stride = t.of.Strides[t.from-1]
	}
	for e := lo; e < hi; {
		start := e - e%t.block
		end := min(start+t.group*t.block, (e/line+1)*line, hi)
		first := t.position(start)
		last := first + t.cover + (end-start-1)/t.block*stride
		src, err := room(t.of.Span.Off+first*t.elem, (last-first)*t.elem)
		if err != nil {
			return err
		}
		if err := wire.ReadFull(r, src, first*t.elem); err != nil {
			return err
		}
		t.Gather(dst[(e-lo)*t.elem:], src, first, e, end)
		e = end
	}
	return nil
}

// stripRows is how many rows are transposed at once: a cache line of the target.
const stripRows = 64

// readStrip reads the adjacent elements for each index of the inner dimensions, as rows
// of a matrix, and writes the transpose.
func (t *Strided) readStrip(b *limits.Budget, r io.ReaderAt, room Room, dst []byte, lo, hi int64) error {
	n := (hi - lo) / t.inner
	atOnce := min(stripRows, t.inner, max(1, Tile/(n*t.elem)))
	if t.elem > 8 {
		atOnce = 1
	}
	for j := int64(0); j < t.inner; j += atOnce {
		if err := b.Err(); err != nil {
			return err
		}
		rows := min(atOnce, t.inner-j)
		src, err := room(0, rows*n*t.elem)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := wire.ReadFull(r, src[i*n*t.elem:][:n*t.elem], t.position(lo+j+i)*t.elem); err != nil {
				return err
			}
		}
		if t.elem > 8 {
			spread(dst[j*t.elem:], src, t.elem, t.inner*t.elem)
			continue
		}
		asm.Best().Transpose(int(t.elem), dst[j*t.elem:], src, int(rows), int(n), asm.Strides{To: int(t.inner * t.elem), From: int(n * t.elem)})
	}
	return nil
}

// Elem returns the bytes of an element.
func (t *Strided) Elem() int64 { return t.elem }

// Cut returns the end of a range of elements from lo on that is read at once: about tile
// bytes, whole blocks unless the storage is held, or a strip.
func (t *Strided) Cut(lo, tile int64, held bool) int64 {
	if t.strip >= 0 {
		line := t.of.Shape[t.strip] * t.inner // a strip stays within one
		return min(lo+t.across*t.inner, (lo/line+1)*line)
	}
	n := max(1, tile/t.elem)
	if !held {
		n = max(n-n%t.block, t.block)
	}
	return lo + n
}

// position returns the offset in the storage of an element.
func (t *Strided) position(e int64) int64 {
	at := t.of.Offset
	for d := len(t.of.Shape) - 1; d >= 0; d-- {
		n := t.of.Shape[d]
		at += e % n * t.of.Strides[d]
		e /= n
	}
	return at
}

// Gather copies elements, one run along the last dimension at a time, or several runs at
// once if they are adjacent columns. base is the position in the storage of the first
// byte of src.
func (t *Strided) Gather(dst, src []byte, base, lo, hi int64) {
	width, stride := int64(1), int64(1)
	if last := len(t.of.Shape) - 1; last >= 0 {
		width, stride = t.of.Shape[last], t.of.Strides[last]
	}
	for e := lo; e < hi; {
		n := min(width-e%width, hi-e)
		from := src[(t.position(e)-base)*t.elem:]
		if rows := t.beside(e, hi); rows > 1 {
			n = rows * width
			asm.Best().Transpose(int(t.elem), dst[:n*t.elem], from, int(width), int(rows), asm.Strides{To: int(width * t.elem), From: int(stride * t.elem)})
		} else {
			collect(dst[:n*t.elem], from, t.elem, stride*t.elem)
		}
		dst = dst[n*t.elem:]
		e += n
	}
}

// beside returns how many whole runs from e on, below hi, are adjacent and disjoint.
func (t *Strided) beside(e, hi int64) int64 {
	last := len(t.of.Shape) - 1
	if last < 1 || t.elem > 8 || t.of.Strides[last-1] != 1 {
		return 0
	}
	width, lines := t.of.Shape[last], t.of.Shape[last-1]
	if e%width != 0 {
		return 0
	}
	return min((hi-e)/width, lines-e/width%lines, t.of.Strides[last])
}

// collect copies elements that are step bytes apart in src.
func collect(dst, src []byte, size, step int64) {
	if step == size {
		copy(dst, src)
		return
	}
	for at := int64(0); int64(len(dst)) >= size; dst, at = dst[size:], at+step {
		copy(dst[:size], src[at:])
	}
}

// spread copies elements to places that are step bytes apart in dst.
func spread(dst, src []byte, size, step int64) {
	for at := int64(0); int64(len(src)) >= size; src, at = src[size:], at+step {
		copy(dst[at:at+size], src)
	}
}
