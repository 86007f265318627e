package tfbundle

import (
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/leveldb"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// sumLen is the length of a checksum.
const sumLen = 4

// Verify reads every tensor and every text, and compares their checksums.
func (f *File) Verify(b *limits.Budget) error {
	v := &verifier{f: f, b: b}
	for i := range f.entries {
		if err := b.Step(1); err != nil {
			return fail("", wire.NoOffset, err)
		}
		if e := &f.entries[i]; len(e.slices) == 0 {
			if err := v.entry(e); err != nil {
				return inFile(f.names[e.shard], fail(whereOf(e.name), e.off, err))
			}
		}
	}
	return nil
}

// A verifier reads the bytes of entries in pieces.
type verifier struct {
	f    *File
	b    *limits.Budget
	room [wire.Chunk]byte
}

func (v *verifier) entry(e *entry) error {
	r, sum, off := v.f.handles[e.shard], uint32(0), e.off
	if types[e.dtype].width == 0 {
		var err error
		if sum, off, err = v.lengths(r, e); err != nil {
			return err
		}
	}
	for left := e.off + e.size - off; left > 0; {
		if err := v.b.Err(); err != nil {
			return err
		}
		p := v.room[:min(left, int64(len(v.room)))]
		if err := wire.ReadFull(r, p, off); err != nil {
			return err
		}
		sum, off, left = leveldb.Sum(sum, p), off+int64(len(p)), left-int64(len(p))
	}
	if leveldb.Mask(sum) != e.sum {
		return errSum.Errorf("its bytes have the checksum %08x, and the index states %08x", leveldb.Mask(sum), e.sum)
	}
	return nil
}

// lengths reads the lengths of texts, which are as long as the bytes after them, and the checksum of the lengths. It
// returns where the texts begin, and the checksum so far: that of the lengths as numbers of four bytes, or of eight if
// they need as many, and of their checksum.
func (v *verifier) lengths(r io.ReaderAt, e *entry) (sum uint32, off int64, err error) {
	c := wire.NewCursor(v.b, Format, r, e.off+e.size)
	if err := c.MoveTo(e.off); err != nil {
		return 0, 0, err
	}
	order := binary.AppendByteOrder(binary.LittleEndian)
	if v.f.order == tensor.Big {
		order, c.Order = binary.BigEndian, binary.BigEndian
	}
	if sum, err = v.sumOf(&c, e, order); err != nil {
		return 0, 0, err
	}
	at := c.Off()
	stated, err := c.U32()
	if err != nil {
		return 0, 0, err
	}
	if stated != leveldb.Mask(sum) {
		return 0, 0, fail(whereOf(e.name), at, errSum.Errorf("the lengths of its texts have the checksum %08x, and %08x is stated", leveldb.Mask(sum), stated))
	}
	var room [sumLen]byte
	return leveldb.Sum(sum, order.AppendUint32(room[:0], stated)), c.Off(), nil
}

// sumOf reads the lengths of texts, which fill the rest of their entry but for a checksum, and returns their own.
func (v *verifier) sumOf(c *wire.Cursor, e *entry, order binary.AppendByteOrder) (sum uint32, err error) {
	count, _ := wire.Product(e.shape)
	total, room := uint64(0), [8]byte{}
	for range count {
		if err := v.b.Step(1); err != nil {
			return 0, err
		}
		n, err := length(c)
		if err != nil {
			return 0, err
		}
		stored := order.AppendUint32(room[:0], uint32(n))
		if n > 1<<32-1 {
			stored = order.AppendUint64(room[:0], n)
		}
		sum = leveldb.Sum(sum, stored)
		if total += n; total > uint64(e.size) {
			break
		}
	}
	if total > uint64(e.size) || c.Left() < sumLen || uint64(c.Left()-sumLen) != total {
		return 0, errLengths.Errorf("%d texts of %d bytes in %d", count, total, e.size)
	}
	return sum, nil
}

// length reads the length of a text.
func length(c *wire.Cursor) (n uint64, err error) {
	at := c.Off()
	for shift := uint(0); shift < 64; shift += 7 {
		x, err := c.U8()
		if err != nil {
			return 0, err
		}
		if shift == 63 && x > 1 {
			break
		}
		n |= uint64(x&0x7f) << shift
		if x < 0x80 {
			return n, nil
		}
	}
	return 0, c.FailAt("", at, errLengths.Errorf("the length of a text in more than 64 bits"))
}
