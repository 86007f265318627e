package unpack

import (
	"hash/crc32"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	xzMagic      = "\xfd7zXZ\x00"
	xzHeadLen    = 12
	maxBlockHead = 1024
	filterLZMA2  = 0x21
)

// An xzWalk checks the structure of an xz file.
type xzWalk struct {
	w      *walker
	c      wire.Cursor
	blocks []xzBlock
}

var (
	errXZ       = wire.ErrSyntax.WithRule("stream.corrupt")
	errXZSum    = wire.ErrChecksum.WithRule("stream.checksum")
	errXZDiffer = wire.ErrMismatch.WithRule("xz.sizes")
)

func (x *xzWalk) fail(at int64, err error) error { return x.c.FailAt("", at, err) }

// take reads n bytes, at most a window.
func (x *xzWalk) take(n int) ([]byte, error) {
	p, err := x.c.View(n)
	if err != nil {
		return nil, err
	}
	return p, x.c.Skip(uint64(n))
}

// stream checks one stream: header, blocks, index, footer.
func (x *xzWalk) stream() error {
	at := x.c.Off()
	p, err := x.take(xzHeadLen)
	if err != nil {
		return err
	}
	if string(p[:6]) != xzMagic {
		return x.fail(at, wire.ErrTrailing.WithRule("stream.trailing").Errorf("the bytes after the stream are not another stream"))
	}
	flags := [2]byte(p[6:8])
	if crc32.ChecksumIEEE(p[6:8]) != le32(p[8:]) {
		return x.fail(at+8, errXZSum.Errorf("the checksum of a stream header does not match its bytes"))
	}
	if flags[0] != 0 || flags[1] > 15 {
		return x.fail(at+6, wire.ErrUnsupported.WithRule("xz.option").Errorf("stream flags %x", flags))
	}
	if checkSizes[flags[1]] < 0 {
		return x.fail(at+7, wire.ErrUnsupported.WithRule("xz.option").Errorf("integrity check of type %d", flags[1]))
	}
	first := len(x.blocks)
	steps := x.w.b.Steps()
	for {
		if err := steps.Step(); err != nil {
			return x.fail(x.c.Off(), err)
		}
		p, err := x.c.View(1)
		if err != nil {
			return err
		}
		if p[0] == 0 {
			break
		}
		if err := x.block(flags[1]); err != nil {
			return err
		}
	}
	n, err := x.checkIndex(x.blocks[first:])
	if err != nil {
		return err
	}
	return x.checkFooter(flags, n)
}

func le32(p []byte) uint32 {
	return uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
}

// blockHeader parses the header of a block at the beginning of p, and returns its length.
func blockHeader(p []byte) (b xzBlock, n int, err error) {
	b.packed, b.size = -1, -1
	if len(p) == 0 || p[0] == 0 {
		return b, 0, io.ErrUnexpectedEOF
	}
	if n = 4 * (int(p[0]) + 1); n > len(p) {
		return b, 0, io.ErrUnexpectedEOF
	}
	if crc32.ChecksumIEEE(p[:n-4]) != le32(p[n-4:]) {
		return b, 0, errXZSum.Errorf("the checksum of a block header does not match its bytes")
	}
	flags, p := p[1], p[2:n-4]
	if flags&0x3c != 0 {
		return b, 0, wire.ErrUnsupported.WithRule("xz.option").Errorf("block flags %#02x", flags)
	}
	bad := errXZ.Errorf("a block header")
	next := func() (v int64, ok bool) {
		v, p, ok = vli(p)
		return v, ok
	}
	ok := true
	if flags&0x40 != 0 {
		if b.packed, ok = next(); !ok || b.packed == 0 {
			return b, 0, bad
		}
	}
	if flags&0x80 != 0 {
		if b.size, ok = next(); !ok {
			return b, 0, bad
		}
	}
	id, ok := next()
	size, ok2 := next()
	switch {
	case !ok || !ok2:
		return b, 0, bad
	case flags&3 != 0 || id != filterLZMA2:
		return b, 0, wire.ErrUnsupported.WithRule("xz.filter").Errorf("a filter other than LZMA2")
	case size != 1 || len(p) == 0 || p[0] > 40:
		return b, 0, bad
	}
	if b.window = int64(2|p[0]&1) << (p[0]/2 + 11); p[0] == 40 {
		b.window = 1<<32 - 1
	}
	for _, c := range p[1:] {
		if c != 0 {
			return b, 0, wire.ErrUnsupported.WithRule("xz.option").Errorf("nonzero bytes after the filters of a block header")
		}
	}
	return b, n, nil
}

// vli parses an integer of seven bits per byte, the lowest first. A longer encoding than
// necessary is invalid.
func vli(p []byte) (v int64, rest []byte, ok bool) {
	for i := range min(len(p), 9) {
		v |= int64(p[i]&0x7f) << (7 * i)
		if p[i] < 0x80 {
			return v, p[i+1:], i == 0 || p[i] != 0
		}
	}
	return 0, p, false
}

// block checks one block, chunk by chunk.
func (x *xzWalk) block(check byte) error {
	at := x.c.Off()
	p, err := x.c.View(1)
	if err != nil {
		return err
	}
	if p, err = x.c.View(4 * (int(p[0]) + 1)); err != nil {
		return err
	}
	said, n, err := blockHeader(p)
	if err != nil {
		return x.fail(at, err)
	}
	if err := x.c.Skip(uint64(n)); err != nil {
		return err
	}
	b := xzBlock{head: at, data: x.c.Off(), window: said.window, check: check}
	if err := x.chunks(&b); err != nil {
		return err
	}
	if said.packed >= 0 && said.packed != b.packed || said.size >= 0 && said.size != b.size {
		return x.fail(at, errXZDiffer.Errorf("a block header states sizes that its chunks do not have"))
	}
	if err := x.checkZeros(-b.packed & 3); err != nil {
		return err
	}
	if err := x.c.Skip(uint64(checkSizes[check])); err != nil {
		return err
	}
	if x.blocks, err = limits.Append(x.w.b, x.blocks, b); err != nil {
		return x.fail(at, err)
	}
	return nil
}

// chunks checks the chunks of one block and adds up their sizes.
func (x *xzWalk) chunks(b *xzBlock) error {
	steps := x.w.b.Steps()
	for {
		if err := steps.Step(); err != nil {
			return x.fail(x.c.Off(), err)
		}
		at := x.c.Off()
		h, err := lzma.ReadHeader(x.c.U8)
		if err != nil {
			if wire.RuleOf(err) != "" {
				err = x.fail(at, err)
			}
			return err
		}
		if h.End {
			b.packed = x.c.Off() - b.data
			return nil
		}
		if err := x.c.Skip(uint64(h.Packed)); err != nil {
			return err
		}
		size, ok := wire.Add(uint64(b.size), uint64(h.Size))
		if !ok || size > wire.MaxSize {
			return x.fail(at, errXZ.Errorf("a block size of more than 63 bits"))
		}
		b.size = int64(size)
	}
}

// checkZeros checks n bytes of padding.
func (x *xzWalk) checkZeros(n int64) error {
	at := x.c.Off()
	p, err := x.take(int(n))
	if err != nil {
		return err
	}
	for _, c := range p {
		if c != 0 {
			return x.fail(at, wire.ErrGap.WithRule("xz.padding").Errorf("padding that is not zero"))
		}
	}
	return nil
}

// checkPadding checks the zeros after a stream. If another stream follows them, Python's
// reader ends and xz continues, so that is refused.
func (x *xzWalk) checkPadding() (done bool, err error) {
	at := x.c.Off()
	steps := x.w.b.Steps()
	for x.c.Left() > 0 {
		if err := steps.Step(); err != nil {
			return false, x.fail(at, err)
		}
		p, err := x.c.View(1)
		if err != nil {
			return false, err
		}
		if p[0] != 0 {
			if x.c.Off() > at {
				return false, x.fail(at, wire.ErrGap.WithRule("xz.padding").Errorf("zeros between streams: some readers stop there, others go on"))
			}
			return false, nil
		}
		if err := x.c.Skip(1); err != nil {
			return false, err
		}
	}
	if (x.c.Off()-at)%4 != 0 {
		return false, x.fail(at, wire.ErrGap.WithRule("xz.padding").Errorf("%d zero bytes after a stream: padding must be a multiple of four bytes", x.c.Off()-at))
	}
	return true, nil
}
