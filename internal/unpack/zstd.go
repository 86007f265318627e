package unpack

import (
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window that is read: the default limit of zstd.
const maxWindow = 128 << 20

// zstd proves that frames of data tile the file, and visits their content. Skippable
// frames are refused, since they could hold anything.
//
// Format: RFC 8878.
func (w *walker) zstd() error {
	window, err := w.frames()
	if err != nil {
		return err
	}
	// The history of a decoder with little memory, and one block more.
	held := 2*window + 1<<20
	return w.stream(opener{func(s *source) (io.Reader, error) {
		z, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return &zstdReader{z}, nil
	}, held, false})
}

// A zstdReader gives errors of the decoder their class.
type zstdReader struct{ z *zstd.Decoder }

func (r *zstdReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	switch {
	case err == nil || err == io.EOF:
	case wire.ClassOf(err) != wire.Internal || err == io.ErrUnexpectedEOF:
	default:
		err = wire.ErrSyntax.WithRule("stream.corrupt").Errorf("%s", wire.Clean(err.Error(), 64))
	}
	return n, err
}

// frames checks all frames and their blocks, and returns the largest window.
func (w *walker) frames() (window int64, err error) {
	c := wire.NewCursor(w.b, w.kind, w.r, w.size)
	c.Order = binary.LittleEndian
	steps := w.b.Steps()
	for c.Left() > 0 {
		magic, err := c.U32()
		switch {
		case err != nil:
			return 0, err
		case magic>>4 == 0x184d2a5:
			return 0, c.FailAt("", c.Off()-4, wire.ErrGap.WithRule("zstd.skippable").Errorf("a skippable frame"))
		case magic != 0xfd2fb528:
			return 0, c.FailAt("", c.Off()-4, wire.ErrTrailing.WithRule("zstd.frame-magic").Errorf("no zstd frame"))
		}
		size, sum, err := frameHeader(&c)
		if err != nil {
			return 0, err
		}
		window = max(window, size)
		for last := false; !last; {
			if err := steps.Step(); err != nil {
				return 0, c.Fail("", err)
			}
			if last, err = block(&c); err != nil {
				return 0, err
			}
		}
		if sum {
			if err := c.Skip(4); err != nil {
				return 0, err
			}
		}
	}
	return window, nil
}

// frameHeader reads the header of a frame, after the magic number.
func frameHeader(c *wire.Cursor) (window int64, sum bool, err error) {
	at := c.Off()
	d, err := c.U8()
	if err != nil {
		return 0, false, err
	}
	single := d&0x20 != 0
	if d&0x08 != 0 {
		return 0, false, c.FailAt("", at, wire.ErrSyntax.WithRule("stream.corrupt").Errorf("a reserved bit of a frame is set"))
	}
	if d&3 != 0 {
		return 0, false, c.FailAt("", at, wire.ErrUnsupported.WithRule("stream.dictionary").Errorf("the frame needs a dictionary, which is not in the file"))
	}
	if !single {
		v, err := c.U8()
		if err != nil {
			return 0, false, err
		}
		base := int64(1) << (10 + v>>3)
		window = base + base/8*int64(v&7)
	}
	size, err := contentSize(c, d>>6, single)
	if err != nil {
		return 0, false, err
	}
	if single {
		window = int64(min(size, wire.MaxSize))
	}
	if window > maxWindow {
		return 0, false, c.FailAt("", at, wire.ErrUnsupported.WithRule("zstd.window").Errorf("a window of %d bytes, more than %d", window, maxWindow))
	}
	return window, d&0x04 != 0, nil
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

// block skips one block.
func block(c *wire.Cursor) (last bool, err error) {
	p, err := c.View(3)
	if err != nil {
		return false, err
	}
	head := uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16
	if err := c.Skip(3); err != nil {
		return false, err
	}
	n := head >> 3
	switch head >> 1 & 3 {
	case 1: // one byte, repeated
		n = 1
	case 3:
		return false, c.FailAt("", c.Off()-3, wire.ErrSyntax.WithRule("stream.corrupt").Errorf("a reserved block type"))
	}
	return head&1 != 0, c.Skip(n)
}
