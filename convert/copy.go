package convert

import (
	"hash/crc32"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// newCopyTask returns the task that copies one tensor, row-major and little-endian.
func newCopyTask(m tensor.Model, i *tensor.Info, out int32) (task, error) {
	if err := tensor.Readable(m.Format(), i); err != nil {
		return nil, err
	}
	c := copyTask{m: m, info: *i, out: out, size: i.Bytes(), swap: model.Swapped(i)}
	_, direct := m.At(*i)
	switch {
	case c.size == 0:
		return &c, nil
	case i.Strides != nil:
		return newViewTask(c, direct)
	case i.Span.Len != c.size:
		return nil, wire.ErrMismatch.Errorf("%d bytes are stored, but its shape needs %d", i.Span.Len, c.size)
	case !direct:
		return &orderedTask{c}, nil
	default:
		return &c, nil
	}
}

// A copyTask copies bytes that can be read at any offset. Its units are bytes.
type copyTask struct {
	m    tensor.Model
	info tensor.Info
	out  int32
	size int64
	swap int64
	r    io.ReaderAt
	// vouched is the archive member whose CRC the copied bytes are checked with, or nil.
	vouched *vouched
}

func (t *copyTask) units() int64          { return t.size }
func (t *copyTask) whole() int64          { return 0 }
func (t *copyTask) close()                { t.r = nil }
func (t *copyTask) name() string          { return t.info.Name }
func (t *copyTask) first() (int32, int64) { return t.out, 0 }

func (t *copyTask) cut(lo, tile int64) int64 {
	if t.swap > 0 {
		tile -= tile % 16
		return (lo/max(tile, 16) + 1) * max(tile, 16)
	}
	return (lo/tile + 1) * tile
}

func (t *copyTask) open(*stream, []byte) error {
	t.r, _ = t.m.At(t.info)
	return nil
}

// copyPiece is how much is read and summed at once, so that it is still in the level 2
// cache.
const copyPiece = 128 << 10

func (t *copyTask) run(w *worker, lo, hi int64) error {
	o := &w.s.p.Outs[t.out]
	dst, err := w.output(o, lo, hi-lo)
	if err != nil {
		return err
	}
	piece := int64(copyPiece)
	if t.vouched == nil {
		piece = hi - lo
	}
	crc := uint32(0)
	for at := lo; at < hi; at += piece {
		p := dst[at-lo : min(at+piece, hi)-lo]
		if err := wire.ReadFull(t.r, p, at); err != nil {
			return err
		}
		if t.vouched != nil {
			crc = crc32.Update(crc, crc32.IEEETable, p)
		}
	}
	if v := t.vouched; v != nil {
		if err := v.sum.put(w.s.b, t.info.Span.Off+lo-v.member.DataOff, hi-lo, crc); err != nil {
			return err
		}
	}
	model.Swap(dst, t.swap)
	return w.write(t.out, lo, dst)
}

// An orderedTask copies bytes that can only be read in order. It is a single unit, which
// one worker reads.
type orderedTask struct{ copyTask }

func (t *orderedTask) units() int64               { return min(t.size, 1) }
func (t *orderedTask) cut(int64, int64) int64     { return 1 }
func (t *orderedTask) open(*stream, []byte) error { return nil }

func (t *orderedTask) run(w *worker, _, _ int64) error {
	body, err := t.m.Body(w.s.b, t.info)
	if err != nil {
		return err
	}
	defer body.Close()
	o := &w.s.p.Outs[t.out]
	for at := int64(0); at < t.size; {
		if err := w.s.b.Err(); err != nil {
			return err
		}
		n := min(max(w.s.tile&^15, 16), t.size-at)
		dst, err := w.output(o, at, n)
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(body, dst); err != nil {
			return err
		}
		model.Swap(dst, t.swap)
		if err := w.write(t.out, at, dst); err != nil {
			return err
		}
		at += n
	}
	return nil
}
