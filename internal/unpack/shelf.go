package unpack

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// A shelf keeps a few used decoders for the next stream. Each takes 40 KiB, which an archive of
// thousands of small streams would otherwise allocate for each of them.
type shelf struct {
	kept  chan io.Reader
	open  func(io.Reader) (io.Reader, error)
	again func(io.Reader, *source) error // resets a decoder for another stream
}

// shelved is the number of decoders of a kind that are kept: enough for the usual nesting of
// archives in a few concurrent judgements.
const shelved = 8

var (
	gzips = shelf{
		make(chan io.Reader, shelved),
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		func(z io.Reader, s *source) error { return z.(*gzip.Reader).Reset(s.Reader) },
	}
	zlibs = shelf{
		make(chan io.Reader, shelved),
		func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
		func(z io.Reader, s *source) error { return z.(zlib.Resetter).Reset(s.Reader, nil) },
	}
)

// lend returns a decoder for a source; giveBack returns it to the shelf.
func (f *shelf) lend(s *source) (io.Reader, error) {
	select {
	case z := <-f.kept:
		if err := f.again(z, s); err != nil {
			return nil, err // where it is, the source says
		}
		return &lent{z, f, s}, nil
	default:
	}
	z, err := f.open(s.Reader) // a bufio.Reader is read fastest
	if err != nil {
		return nil, err
	}
	return &lent{z, f, s}, nil
}

// A lent decoder goes back to its shelf.
type lent struct {
	io.Reader

	from *shelf
	s    *source
}

// giveBack returns a decoder that is no longer read. Its source is cleared and its buffer reads
// nothing, so that the shelf keeps no file open; the buffer stays with the decoder.
func giveBack(z io.Reader) {
	l, ok := z.(*lent)
	if !ok || l.from == nil {
		return
	}
	l.s.Reader.Reset(nil)
	*l.s = source{}
	select {
	case l.from.kept <- l.Reader:
	default:
	}
	l.Reader, l.from = nil, nil
}
