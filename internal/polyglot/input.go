package polyglot

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An input reads a file from any place, through one buffer. It pays for each byte that it
// looks at.
type input struct {
	r     io.ReaderAt
	size  int64
	steps *limits.Steps
	buf   []byte // what a read may take
	have  []byte // what the last one brought,
	from  int64  // and where that begins
	pos   int64  // of the next byte

	// The line that the first text of a start went to the end of: that of the next start is
	// often the same.
	first     bool // no text has come since the start
	line, end int64
}

// readBuffer is how much is read at once; [maxName] fits into it.
const readBuffer = 16 << 10

// newInput returns an input at the beginning of the file.
func newInput(b *limits.Budget, r io.ReaderAt, size int64, steps *limits.Steps, most int) (*input, error) {
	buf, err := limits.Make[byte](b, int(min(max(size, 0), int64(most))))
	return &input{r: r, size: size, steps: steps, buf: buf}, err
}

// start goes to a place.
func (in *input) start(pos int64) { in.pos, in.first = pos, true }

// peek returns the next n bytes, fewer at the end of the file and where that is more than a buffer
// holds. They are valid until the next read.
func (in *input) peek(n int64) ([]byte, error) {
	n = max(min(n, in.size-in.pos, int64(len(in.buf))), 0)
	if in.pos < in.from || in.pos+n > in.from+int64(len(in.have)) {
		p := in.buf[:min(int64(len(in.buf)), in.size-in.pos)]
		if err := in.steps.Take(1 + int64(len(p))/512); err != nil {
			return nil, err
		}
		in.have = nil
		if err := wire.ReadFull(in.r, p, in.pos); err != nil {
			return nil, err
		}
		in.have, in.from = p, in.pos
	}
	return in.have[in.pos-in.from:][:n], nil
}

// next returns the next byte.
func (in *input) next() (byte, error) {
	if i := in.pos - in.from; 0 <= i && i < int64(len(in.have)) {
		in.pos++
		return in.have[i], nil
	}
	p, err := in.peek(1)
	if err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, io.EOF
	}
	in.pos++
	return p[0], nil
}

// full returns the next n bytes, at most [maxName].
func (in *input) full(n int) ([]byte, error) {
	p, err := in.peek(int64(n))
	if err == nil && len(p) < n {
		err = io.EOF
	}
	in.pos += int64(len(p))
	return p, err
}

// skip goes n bytes on.
func (in *input) skip(n int64) error {
	if n > in.size-in.pos {
		in.pos = in.size
		return io.EOF
	}
	in.pos += n
	return nil
}

// rest goes past the end of a line.
func (in *input) rest() error {
	from, first := in.pos, in.first
	in.first = false
	if in.line <= from && from < in.end {
		in.pos = in.end
		return nil
	}
	for {
		p, err := in.peek(readBuffer)
		if err != nil {
			return err
		}
		if len(p) == 0 {
			return io.EOF
		}
		n := bytes.IndexByte(p, '\n') + 1
		found := n > 0
		if !found {
			n = len(p)
		}
		if err := in.steps.Take(1 + int64(n)/256); err != nil {
			return err
		}
		if in.pos += int64(n); !found {
			continue
		}
		if first {
			in.line, in.end = from, in.pos
		}
		return nil
	}
}
