package unpack

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is the largest window that is read: the default limit of zstd.
	maxWindow = 128 << 20
	// minWindow is the smallest that a frame can state, and maxBlock what one block holds.
	minWindow, maxBlock = 1 << 10, 128 << 10
)

// zstd checks that data frames tile the file, and visits their content. Skippable frames are
// refused, since they could contain anything.
//
// Format: RFC 8878.
func (w *walker) zstd() error {
	var f frames
	if err := f.read(w); err != nil {
		return err
	}
	// A decoder in its low-memory mode keeps the history and one more block.
	held := 2*f.most + 1<<20
	return w.stream(opener{func(s *source) (io.Reader, error) {
		s.edit = f.small
		z, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return &zstdReader{z, s}, nil
	}, held, false})
}

// A zstdReader gives the decoder's errors a class.
type zstdReader struct {
	z *zstd.Decoder
	s *source
}

func (r *zstdReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	switch {
	case err == nil || err == io.EOF:
	case wire.ClassOf(err) != wire.Internal || err == io.ErrUnexpectedEOF:
	case r.s.failed != nil:
		err = r.s.failed
	default:
		err = wire.ErrSyntax.WithRule("stream.corrupt").Errorf("%s", wire.Clean(err.Error(), 64))
	}
	return n, err
}

// Frames are the frames of a file and the memory that a decoder needs for them. The decoder
// allocates the window that a frame states, such as 8 MiB for a frame of 13 bytes. If the blocks of
// a frame hold less, a smaller window is substituted in the header. A match cannot reach back
// beyond the frame's content, so the output is the same.
type frames struct {
	most    int64    // the largest window
	windows []window // windows to substitute, by offset
}

// A window is the offset of a window descriptor and its substitute.
type window struct {
	at    int64
	small byte
}

// small substitutes smaller windows in p, the bytes of the file at off.
func (f *frames) small(p []byte, off int64) {
	first, _ := slices.BinarySearchFunc(f.windows, off, func(w window, off int64) int { return cmp.Compare(w.at, off) })
	for _, w := range f.windows[first:] {
		if w.at-off >= int64(len(p)) {
			return
		}
		p[w.at-off] = w.small
	}
}

// read checks all frames and their blocks.
func (f *frames) read(w *walker) error {
	c := wire.NewCursor(w.b, w.kind, w.r, w.size)
	c.Order = binary.LittleEndian
	steps := w.b.Steps()
	for c.Left() > 0 {
		begin := c.Off()
		magic, err := c.U32()
		switch {
		case err != nil:
			return err
		case magic>>4 == 0x184d2a5:
			return c.FailAt("", c.Off()-4, wire.ErrGap.WithRule("zstd.skippable").Errorf("a skippable frame"))
		case magic != 0xfd2fb528:
			return c.FailAt("", c.Off()-4, wire.ErrTrailing.WithRule("zstd.frame-magic").Errorf("no zstd frame"))
		}
		h, err := readHeader(&c)
		if err != nil {
			return err
		}
		holds := int64(0)
		for last := false; !last; {
			if err := steps.Step(); err != nil {
				return c.Fail("", err)
			}
			var n int64
			if n, last, err = block(&c); err != nil {
				return err
			}
			holds += n
		}
		if h.sum {
			if err := c.Skip(4); err != nil {
				return err
			}
		}
		if h.stated && int64(min(h.size, wire.MaxSize)) > holds {
			return c.FailAt("", begin, wire.ErrSyntax.WithRule("stream.corrupt").Errorf("a frame of %d bytes, whose blocks hold at most %d", h.size, holds))
		}
		if h.single || holds >= h.window {
			f.most = max(f.most, h.window)
			continue
		}
		small, size := windowOf(holds)
		f.most = max(f.most, size)
		if size < h.window {
			if f.windows, err = limits.Append(w.b, f.windows, window{begin + 5, small}); err != nil {
				return c.Fail("", err)
			}
		}
	}
	return nil
}

// windowOf returns the smallest window of at least n bytes.
func windowOf(n int64) (descriptor byte, size int64) {
	for descriptor = 0; ; descriptor++ {
		if size = windowSize(descriptor); size >= n {
			return descriptor, size
		}
	}
}

func windowSize(descriptor byte) int64 {
	base := int64(minWindow) << (descriptor >> 3)
	return base + base/8*int64(descriptor&7)
}

// A frameHeader is what the header of a frame says.
type frameHeader struct {
	window int64
	size   uint64
	stated bool // the size of the content
	single bool // single segment: the window is the size of the content
	sum    bool
}

// readHeader reads the header of a frame, after the magic number.
func readHeader(c *wire.Cursor) (h frameHeader, err error) {
	at := c.Off()
	d, err := c.U8()
	if err != nil {
		return h, err
	}
	h.single, h.sum, h.stated = d&0x20 != 0, d&0x04 != 0, d&0x20 != 0 || d>>6 != 0
	if d&0x08 != 0 {
		return h, c.FailAt("", at, wire.ErrSyntax.WithRule("stream.corrupt").Errorf("a reserved bit of a frame is set"))
	}
	if d&3 != 0 {
		return h, c.FailAt("", at, wire.ErrUnsupported.WithRule("stream.dictionary").Errorf("the frame needs a dictionary, which is not in the file"))
	}
	if !h.single {
		v, err := c.U8()
		if err != nil {
			return h, err
		}
		h.window = windowSize(v)
	}
	if h.size, err = contentSize(c, d>>6, h.single); err != nil {
		return h, err
	}
	if h.single {
		h.window = int64(min(h.size, wire.MaxSize))
	}
	if h.window > maxWindow {
		return h, c.FailAt("", at, wire.ErrUnsupported.WithRule("zstd.window").Errorf("a window of %d bytes, more than %d", h.window, maxWindow))
	}
	return h, nil
}

// contentSize reads the size of a frame's content, if it is stated.
func contentSize(c *wire.Cursor, flag byte, single bool) (size uint64, err error) {
	switch {
	case flag == 1:
		n, err := c.U16()
		return uint64(n) + 256, err
	case flag == 2:
		n, err := c.U32()
		return uint64(n), err
	case flag == 3:
		return c.U64()
	case single:
		n, err := c.U8()
		return uint64(n), err
	}
	return 0, nil
}

// block skips one block, and returns the most that it can hold.
func block(c *wire.Cursor) (holds int64, last bool, err error) {
	p, err := c.View(3)
	if err != nil {
		return 0, false, err
	}
	head := uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16
	if err := c.Skip(3); err != nil {
		return 0, false, err
	}
	n := head >> 3
	holds = int64(n)
	switch head >> 1 & 3 {
	case 1: // one byte, repeated
		n = 1
	case 2:
		holds = maxBlock
	case 3:
		return 0, false, c.FailAt("", c.Off()-3, wire.ErrSyntax.WithRule("stream.corrupt").Errorf("a reserved block type"))
	}
	return holds, head&1 != 0, c.Skip(n)
}
