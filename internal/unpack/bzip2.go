package unpack

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// smallBzip2 is the size up to which a stream is first read as one of small blocks. The
// decoder allocates for the largest block that the header allows, 3.6 MB for nearly every
// stream: some milliseconds for each of thousands of small files in an archive.
const smallBzip2 = 64 << 10

// severalSteps are the steps of a small file of several streams, which needs the memory of
// the largest blocks. No archive holds thousands of those.
const severalSteps = 128 << 10

// severalStreams reports whether a small file has a header of bzip2 behind its first one.
func (s *source) severalStreams() (bool, error) {
	p := make([]byte, s.from.Size())
	if err := wire.ReadFull(s.from, p, 0); err != nil {
		return false, err
	}
	for at := 1; ; at++ {
		i := bytes.Index(p[min(at, len(p)):], []byte("BZh"))
		if i < 0 {
			return false, nil
		}
		if at += i; isBzip2(p[at:]) {
			return true, nil
		}
	}
}

// openBzip2 creates a decoder of bzip2.
var openBzip2 = opener{func(s *source) (io.Reader, error) {
	small := s.from.Size() <= smallBzip2
	if small {
		several, err := s.severalStreams()
		if err != nil {
			return nil, err
		}
		if several {
			small = false
			if err := s.b.Step(severalSteps); err != nil {
				return nil, err
			}
		}
	}
	r := &bzip2Reader{s: s}
	return r, r.open(small)
}, bzip2Len, false}

// A bzip2Reader reads a stream as one of blocks of 100,000 bytes as long as that goes well,
// and then again by its own header.
type bzip2Reader struct {
	s     *source
	z     io.Reader
	small bool
	out   int64

	unpaid int // bytes made
}

func (r *bzip2Reader) open(small bool) error {
	r.small = small
	if small {
		r.z = bzip2.NewReader(&smallBlocks{source: r.s})
		return nil
	}
	r.z = bzip2.NewReader(r.s)
	return r.s.b.Step(largeSteps)
}

// largeSteps are those of allocating for the largest blocks and of reading one, which may
// fail before anything is made of it.
const largeSteps = 32 << 10

func (r *bzip2Reader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	if _, bad := errors.AsType[bzip2.StructuralError](err); bad && r.small && n == 0 {
		if err := r.again(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}
	r.out += int64(n)
	if r.unpaid += n; r.unpaid >= bzip2Bytes {
		steps := r.unpaid / bzip2Bytes
		r.unpaid -= steps * bzip2Bytes
		if err := r.s.b.Step(int64(steps)); err != nil {
			return 0, err
		}
	}
	return n, err
}

// bzip2Bytes are the bytes for a step: bzip2 makes some 20 MB in a second.
const bzip2Bytes = 6

// again begins again by the header and goes on where it was.
func (r *bzip2Reader) again() error {
	if err := r.s.b.Step(r.out / bzip2Bytes); err != nil {
		return err
	}
	if err := r.s.rewind(); err != nil {
		return err
	}
	if err := r.open(false); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, r.z, r.out); err != nil {
		return err
	}
	return nil
}

// smallBlocks is a stream whose headers say that its blocks are of the smallest kind. The
// first alone matters: a decoder keeps what it allocated for it.
type smallBlocks struct {
	*source
	at int
}

// levelAt is where a header says how large its blocks are.
const levelAt = 3

func (r *smallBlocks) ReadByte() (byte, error) {
	c, err := r.source.ReadByte()
	if r.at == levelAt && '1' <= c && c <= '9' {
		c = '1'
	}
	r.at++
	return c, err
}
