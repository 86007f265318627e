package polyglot

import (
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// IsBzip2 checks the header and the beginning of a block or of the end, since a text may
// begin with three letters and a digit.
func IsBzip2(head []byte) bool {
	if len(head) < 10 || string(head[:3]) != "BZh" || head[3] < '1' || head[3] > '9' {
		return false
	}
	return string(head[4:10]) == "1AY&SY" || string(head[4:10]) == "\x17rE8P\x90"
}

// IsZlib checks for the header that every writer uses, and that the following bytes
// inflate, since a text may begin with the same two bytes.
func IsZlib(head []byte) bool {
	if len(head) < 2 || head[0] != 'x' || (int(head[0])<<8|int(head[1]))%31 != 0 {
		return false
	}
	var out [32]byte
	from := &sliceReader{head[2:]}
	z := probe(from)
	n, err := io.ReadFull(z, out[:])
	from.p = nil // the inflater is kept, the file is not
	select {
	case probes <- z:
	default:
	}
	return err == nil || n > 0 && errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF
}

// probes are inflaters to use again. Each takes 40 KiB, which an archive of thousands of small
// streams would otherwise allocate for each of them.
var probes = make(chan io.Reader, 2)

// probe returns an inflater.
func probe(from *sliceReader) io.Reader {
	select {
	case z := <-probes:
		if z.(flate.Resetter).Reset(from, nil) == nil {
			return z
		}
	default:
	}
	return flate.NewReader(from)
}

// A sliceReader reads bytes. It is an io.ByteReader, so flate does not buffer.
type sliceReader struct{ p []byte }

func (s *sliceReader) Read(p []byte) (int, error) {
	if len(s.p) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.p)
	s.p = s.p[n:]
	return n, nil
}

func (s *sliceReader) ReadByte() (byte, error) {
	if len(s.p) == 0 {
		return 0, io.EOF
	}
	c := s.p[0]
	s.p = s.p[1:]
	return c, nil
}
