package lzma

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A prob is the chance of a zero bit, of 2,048.
type prob = uint16

const (
	probBits = 11
	probInit = 1 << probBits / 2
	moveBits = 5
	topValue = 1 << 24
)

// A ranger reads bits of a range coder. Once its bytes end it gives zeros: short says
// so, and is asked after every symbol.
type ranger struct {
	r      io.ByteReader
	span   uint32
	code   uint32
	taken  int64 // bytes
	short  bool
	failed error
}

var errCorrupt = wire.ErrSyntax.WithRule("stream.corrupt")

// begin reads the first bytes, which are a zero and the code.
func (r *ranger) begin(from io.ByteReader) error {
	*r = ranger{r: from, span: 0xffffffff}
	if r.next() != 0 && !r.short {
		return errCorrupt.Errorf("the first byte of the range coder is not zero")
	}
	for range 4 {
		r.code = r.code<<8 | uint32(r.next())
	}
	if err := r.err(); err != nil {
		return err
	}
	if r.code == r.span {
		return errCorrupt.Errorf("the range coder starts out of range")
	}
	return nil
}

func (r *ranger) next() byte {
	if r.short {
		return 0
	}
	c, err := r.r.ReadByte()
	if err != nil {
		r.short, r.failed = true, err
		return 0
	}
	r.taken++
	return c
}

// err is why bytes are missing.
func (r *ranger) err() error {
	if !r.short {
		return nil
	}
	if r.failed == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return r.failed
}

func (r *ranger) normalize() {
	if r.span < topValue {
		r.span <<= 8
		r.code = r.code<<8 | uint32(r.next())
	}
}

// ended checks that the coder ends here.
func (r *ranger) ended() error {
	r.normalize()
	if err := r.err(); err != nil {
		return err
	}
	if r.code != 0 {
		return errCorrupt.Errorf("the range coder does not end at zero")
	}
	return nil
}

func (r *ranger) bit(p *prob) uint32 {
	r.normalize()
	bound := r.span >> probBits * uint32(*p)
	if r.code < bound {
		r.span = bound
		*p += (1<<probBits - *p) >> moveBits
		return 0
	}
	r.span -= bound
	r.code -= bound
	*p -= *p >> moveBits
	return 1
}

// direct reads n bits of equal chance.
func (r *ranger) direct(n int) (v uint32) {
	for ; n > 0; n-- {
		r.normalize()
		r.span >>= 1
		v <<= 1
		if r.code >= r.span {
			r.code -= r.span
			v |= 1
		}
	}
	return v
}

// tree reads a number whose bits each have a chance by those before, the highest
// first.
func (r *ranger) tree(p []prob) uint32 {
	m := uint32(1)
	for m < uint32(len(p)) {
		m = m<<1 | r.bit(&p[m])
	}
	return m - uint32(len(p))
}

// reverse reads n bits, the lowest first.
func (r *ranger) reverse(p []prob, n int) (v uint32) {
	m := uint32(1)
	for i := range n {
		c := r.bit(&p[m])
		m = m<<1 | c
		v |= c << i
	}
	return v
}
