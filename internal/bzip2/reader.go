package bzip2

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Held bounds the memory of a [Reader]: four bytes for each of 900,000 symbols, and tables.
const Held = 4 << 20

const (
	blockMagic = 0x314159265359 // pi
	endMagic   = 0x177245385090 // its square root
)

// A Reader inflates a file.
type Reader struct {
	in    bits
	block block
	most  int // symbols of a block of this stream
	any   bool
	err   error

	// The sums of the streams and blocks, as they are and as they are stated.
	whole, sum, stated uint32

	left   int    // symbols of the block that are not yet read
	next   uint32 // the place of the next one
	last   int    // the byte before it, or -1
	equal  int    // how many of it there were, up to four
	repeat int    // how often it still comes
}

// NewReader returns a reader of a file, which charges its steps to an account.
func NewReader(b *limits.Budget, r io.ByteReader) *Reader {
	z := &Reader{in: bits{r: r}}
	z.block.steps, z.block.in = b, &z.in
	return z
}

// Read implements io.Reader.
func (z *Reader) Read(p []byte) (int, error) {
	for z.err == nil && len(p) > 0 {
		if n := z.give(p); n > 0 {
			z.sum = sumOf(z.sum, p[:n])
			return n, nil
		}
		z.err = z.more()
	}
	return 0, z.err
}

// give gives bytes of the block: after four equal ones, the next says how many more come.
func (z *Reader) give(p []byte) (n int) {
	text := z.block.text
	for n < len(p) {
		if z.repeat > 0 {
			k := min(z.repeat, len(p)-n)
			for i := range k {
				p[n+i] = byte(z.last)
			}
			n, z.repeat = n+k, z.repeat-k
			continue
		}
		if z.left == 0 {
			break
		}
		entry := text[z.next]
		z.next = entry >> 8
		z.left--
		c := int(entry & 0xff)
		if z.equal == 4 {
			z.repeat, z.equal = c, 0
			continue
		}
		if c == z.last {
			z.equal++
		} else {
			z.last, z.equal = c, 1
		}
		p[n] = byte(c)
		n++
	}
	return n
}

// more reads the next block. It returns io.EOF at the end of the file.
func (z *Reader) more() error {
	if z.most == 0 {
		return z.open()
	}
	if z.equal == 4 {
		return corrupt("a block ends where it says how often a byte is repeated")
	}
	if z.any && z.sum != z.stated {
		return wire.ErrChecksum.WithRule("stream.checksum").Errorf("the checksum of a block does not match its data")
	}
	z.any = false
	high, err := z.in.read(24)
	if err != nil {
		return err
	}
	low, err := z.in.read(24)
	if err != nil {
		return err
	}
	switch uint64(high)<<24 | uint64(low) {
	case blockMagic:
		return z.begin()
	case endMagic:
		return z.end()
	}
	return corrupt("no block begins here")
}

// open reads the header of a stream.
func (z *Reader) open() error {
	level := uint32(0)
	for _, want := range [...][2]uint32{{'B', 'B'}, {'Z', 'Z'}, {'h', 'h'}, {'1', '9'}} {
		c, err := z.in.read(8)
		if err != nil {
			return err
		}
		if c < want[0] || c > want[1] {
			return corrupt("no header of a stream")
		}
		level = c
	}
	z.most, z.whole = 100_000*int(level-'0'), 0
	return z.block.steps.Step(1)
}

// begin begins a block.
func (z *Reader) begin() (err error) {
	if z.stated, z.next, err = z.block.read(z.most); err != nil {
		return err
	}
	z.any, z.sum = true, 0
	z.whole = (z.whole<<1 | z.whole>>31) ^ z.stated
	z.left, z.last, z.equal, z.repeat = z.block.total, -1, 0, 0
	return nil
}

// end ends a stream, behind which there may be another one.
func (z *Reader) end() error {
	want, err := z.in.read(32)
	if err != nil {
		return err
	}
	if want != z.whole {
		return wire.ErrChecksum.WithRule("stream.checksum").Errorf("the checksum of the stream does not match its blocks")
	}
	z.in.n -= z.in.n % 8
	if z.in.fill(8) == 0 {
		return z.in.err
	}
	z.most = 0
	return nil
}

// sums is the table of CRC-32 with the highest bit first, which hash/crc32 does not have.
var sums = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ 0x04c11db7&-(c>>31)
		}
		t[i] = c
	}
	return t
}()

func sumOf(sum uint32, p []byte) uint32 {
	c := ^sum
	for _, x := range p {
		c = sums[byte(c>>24)^x] ^ c<<8
	}
	return ^c
}
