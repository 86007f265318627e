package unpack

import (
	"hash/crc32"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An indexReader reads the index of a stream and computes its checksum.
type indexReader struct {
	x   *xzWalk
	sum uint32
	at  int64
}

func (s *indexReader) byte() (byte, error) {
	c, err := s.x.c.U8()
	s.sum = crc32.Update(s.sum, crc32.IEEETable, []byte{c})
	return c, err
}

func (s *indexReader) number() (int64, error) {
	var p [9]byte
	for i := range p {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		if p[i] = c; c < 0x80 {
			v, _, ok := vli(p[:i+1])
			if !ok {
				break
			}
			return v, nil
		}
	}
	return 0, s.x.fail(s.at, errXZ.Errorf("an integer of the index"))
}

// checkIndex compares the index of a stream with its blocks, and returns the size of the
// index.
func (x *xzWalk) checkIndex(blocks []xzBlock) (int64, error) {
	s := &indexReader{x: x, at: x.c.Off()}
	if _, err := s.byte(); err != nil {
		return 0, err
	}
	count, err := s.number()
	if err != nil {
		return 0, err
	}
	if count != int64(len(blocks)) {
		return 0, x.fail(s.at, errXZDiffer.Errorf("the index lists %d blocks, the stream has %d", count, len(blocks)))
	}
	steps := x.w.b.Steps()
	for _, b := range blocks {
		if err := steps.Step(); err != nil {
			return 0, x.fail(s.at, err)
		}
		packed, err := s.number()
		if err != nil {
			return 0, err
		}
		size, err := s.number()
		if err != nil {
			return 0, err
		}
		if packed != b.data+b.packed-b.head+checkSizes[b.check] || size != b.size {
			return 0, x.fail(s.at, errXZDiffer.Errorf("the index states sizes that a block does not have"))
		}
	}
	for (x.c.Off()-s.at)%4 != 0 {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		if c != 0 {
			return 0, x.fail(x.c.Off()-1, wire.ErrGap.WithRule("xz.padding").Errorf("padding that is not zero"))
		}
	}
	want := s.sum
	sum, err := x.c.U32()
	if err != nil {
		return 0, err
	}
	if sum != want {
		return 0, x.fail(x.c.Off()-4, errXZSum.Errorf("the checksum of the index does not match its bytes"))
	}
	return x.c.Off() - s.at, nil
}

// checkFooter compares the end of a stream with its header and index.
func (x *xzWalk) checkFooter(flags [2]byte, index int64) error {
	at := x.c.Off()
	p, err := x.take(xzHeadLen)
	switch {
	case err != nil:
		return err
	case string(p[10:]) != "YZ":
		return x.fail(at+10, errXZ.Errorf("the stream has no footer"))
	case crc32.ChecksumIEEE(p[4:10]) != le32(p):
		return x.fail(at, errXZSum.Errorf("the checksum of a stream footer does not match its bytes"))
	case [2]byte(p[8:10]) != flags, 4*(int64(le32(p[4:]))+1) != index:
		return x.fail(at+4, errXZDiffer.Errorf("a stream footer contradicts the header or the index"))
	}
	return nil
}
