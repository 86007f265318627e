package unpack

import (
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	blockLen = 64 << 10
	// The first block has firstLen bytes at first, then nextLen, then blockLen.
	firstLen = 512
	nextLen  = 8 << 10
	// A replay keeps the first blocks, which hold headers, and the blocks that were read last: 16
	// MiB in total.
	headBlocks = 16
	keptBlocks = 256
)

// A replay gives random access to a stream that can only be read in order. It keeps recent blocks,
// and starts over for earlier ones.
type replay struct {
	b      *limits.Budget
	open   func() (io.Reader, error)
	place  func(error) error     // adds the place to an error
	charge func(out int64) error // charges the content

	in      io.Reader
	inBlock int64 // the next block of in
	size    int64 // of the content once it is known, else -1
	most    int   // how many blocks are kept

	blocks map[int64][]byte
	order  []int64 // kept blocks after the head, oldest first
	held   int64
}

// newReplay reads the stream to its end, to know its size.
func newReplay(b *limits.Budget, begin func() (io.Reader, error), place func(error) error, meter func(int64) error) (*replay, error) {
	p := &replay{b: b, open: begin, place: place, charge: meter, size: -1, most: keptBlocks, blocks: map[int64][]byte{}}
	for p.size < 0 {
		if err := p.read(); err != nil {
			p.close()
			return nil, place(err)
		}
	}
	return p, nil
}

func (p *replay) close() {
	p.b.Drop(p.held)
	p.held, p.blocks, p.order = 0, nil, nil
}

// read reads the next block and keeps it.
func (p *replay) read() (err error) {
	if err := p.b.Err(); err != nil {
		return err
	}
	if p.in == nil {
		if p.in, err = p.open(); err != nil {
			return err
		}
		p.inBlock = 0
	}
	buf, kept := p.blocks[p.inBlock]
	if buf = buf[:cap(buf)]; !kept {
		if buf, err = p.buffer(); err != nil {
			return err
		}
	}
	n := 0
	for idle := 0; n < blockLen && err == nil && idle < 100; idle++ {
		if n == len(buf) {
			var longer []byte
			if n == firstLen {
				longer = make([]byte, nextLen)
			} else {
				longer = make([]byte, blockLen)
			}
			copy(longer, buf)
			buf = longer
		}
		var k int
		if k, err = p.in.Read(buf[n:]); k > 0 {
			n, idle = n+k, 0
		}
	}
	switch {
	case err == nil && n < blockLen:
		return io.ErrNoProgress
	case err != nil && err != io.EOF: // not io.ReadFull: an end that comes too early is another error
		return err
	}
	if p.size < 0 {
		if err := p.charge(int64(n)); err != nil {
			return err
		}
	}
	if err == io.EOF {
		p.size, p.in = p.inBlock*blockLen+int64(n), nil
	}
	p.blocks[p.inBlock] = buf[:n]
	if !kept && p.inBlock >= headBlocks {
		p.order = append(p.order, p.inBlock)
	}
	p.inBlock++
	return nil
}

// buffer returns a new block, or the oldest one.
func (p *replay) buffer() ([]byte, error) {
	if len(p.blocks) < p.most {
		if err := p.b.Hold(blockLen); err != nil {
			return nil, err
		}
		p.held += blockLen
		if len(p.blocks) == 0 {
			return make([]byte, firstLen), nil // most contents of an archive are small
		}
		return make([]byte, blockLen), nil
	}
	oldest := p.order[0]
	p.order = p.order[1:]
	buf := p.blocks[oldest]
	buf = buf[:cap(buf)]
	delete(p.blocks, oldest)
	return buf, nil
}

// errChanged is the error for a file that inflates to other content than before.
var errChanged = errors.New("the file changed while it was read")

// block returns block n of the content.
func (p *replay) block(n int64) ([]byte, error) {
	if buf, ok := p.blocks[n]; ok {
		return buf, nil
	}
	if p.in == nil || n < p.inBlock {
		p.in = nil
	}
	for {
		if err := p.read(); err != nil {
			return nil, err
		}
		switch {
		case p.inBlock == n+1:
			if buf, ok := p.blocks[n]; ok {
				return buf, nil
			}
			return nil, errChanged
		case p.in == nil:
			return nil, errChanged
		}
	}
}

// ReadAt implements io.ReaderAt.
func (p *replay) ReadAt(to []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, wire.ErrRange.Errorf("offset %d", off)
	}
	for n < len(to) {
		if off >= p.size {
			return n, io.EOF
		}
		buf, err := p.block(off / blockLen)
		if err != nil {
			return n, p.place(err)
		}
		if off%blockLen >= int64(len(buf)) {
			return n, p.place(errChanged)
		}
		k := copy(to[n:], buf[off%blockLen:])
		n, off = n+k, off+int64(k)
	}
	return n, nil
}
