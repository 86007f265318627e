package unpack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An xzBlock is the position of a block in an xz file, and what its header states.
type xzBlock struct {
	head, data int64 // offsets of its header and of its chunks
	packed     int64 // bytes of the chunks
	size       int64 // of what they inflate to
	window     int64
	check      byte
}

// checkSizes are the sizes of integrity checks; -1 for those that are not read.
var checkSizes = [16]int64{0, 4, -1, -1, 8, -1, -1, -1, -1, -1, 32, -1, -1, -1, -1, -1}

// xz proves that streams of blocks tile the file, with the sizes that headers and index
// state, and visits their content. A block's dictionary is never larger than the block's
// content.
//
// Format: the .xz file format 1.2.1.
func (w *walker) xz() error {
	x := &xzWalk{w: w, c: wire.NewCursor(w.b, w.kind, w.r, w.size)}
	x.c.Order = binary.LittleEndian
	for again := false; x.c.Left() > 0; again = true {
		if again {
			if done, err := x.checkPadding(); done || err != nil {
				if err != nil {
					return err
				}
				break
			}
		}
		if err := x.stream(); err != nil {
			return err
		}
	}
	d := lzma.NewDecoder(w.b)
	defer d.Close()
	return w.stream(opener{func(s *source) (io.Reader, error) {
		return &xzReader{s: s, d: d, blocks: x.blocks}, nil
	}, lzma.Held, false})
}

// An xzReader inflates the blocks of a file whose structure was checked.
type xzReader struct {
	s      *source
	d      *lzma.Decoder
	blocks []xzBlock
	in     *lzma.Chunks
	sum    hash.Hash
}

// Read implements io.Reader.
func (r *xzReader) Read(p []byte) (int, error) {
	for len(r.blocks) > 0 {
		b := &r.blocks[0]
		if r.in == nil {
			if err := r.open(b); err != nil {
				return 0, err
			}
		}
		n, err := r.in.Read(p)
		if r.sum != nil {
			r.sum.Write(p[:n])
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		if err := r.finish(b); err != nil {
			return 0, err
		}
		r.in, r.blocks = nil, r.blocks[1:]
	}
	return 0, io.EOF
}

func (r *xzReader) open(b *xzBlock) (err error) {
	if _, err = io.CopyN(io.Discard, r.s, b.data-r.s.at()); err != nil {
		return unexpectedEOF(err)
	}
	switch b.check {
	case 1:
		r.sum = crc32.NewIEEE()
	case 4:
		r.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		r.sum = sha256.New()
	default:
		r.sum = nil
	}
	r.in = lzma.NewChunks(r.d, r.s, uint64(min(b.window, b.size)))
	return nil
}

// unexpectedEOF replaces io.EOF inside the stream: the bytes existed when the structure was
// checked, and a file that became shorter since then has another error.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return errChanged
	}
	return err
}

// finish compares the integrity check after a block.
func (r *xzReader) finish(b *xzBlock) error {
	if r.s.at() != b.data+b.packed {
		return errChanged
	}
	if r.sum == nil {
		return nil
	}
	var buf [32]byte
	stored := buf[:checkSizes[b.check]]
	if _, err := io.CopyN(io.Discard, r.s, -b.packed&3); err != nil {
		return unexpectedEOF(err)
	}
	if _, err := io.ReadFull(r.s, stored); err != nil {
		return unexpectedEOF(err)
	}
	sum := r.sum.Sum(nil)
	if b.check != 10 { // numbers are little endian
		for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
			sum[i], sum[j] = sum[j], sum[i]
		}
	}
	if !bytes.Equal(sum, stored) {
		return wire.ErrChecksum.WithRule("stream.checksum").Errorf("the checksum of a block does not match its data")
	}
	return nil
}

// lzma inflates an .lzma file.
func (w *walker) lzma() error {
	d := lzma.NewDecoder(w.b)
	defer d.Close()
	return w.stream(opener{func(s *source) (io.Reader, error) { return lzma.NewAlone(d, s) }, lzma.Held, true})
}

// A closingReader releases its decoder.
type closingReader struct {
	io.Reader

	d *lzma.Decoder
}

func (c closingReader) Close() error {
	c.d.Close()
	return nil
}

var (
	openLZMABeginning = opener{func(s *source) (io.Reader, error) {
		d := lzma.NewDecoder(s.b)
		z, err := lzma.NewAlone(d, s)
		if err != nil {
			d.Close()
			return nil, err
		}
		return closingReader{z, d}, nil
	}, lzma.Held, false}

	// It inflates only the first block, which is the beginning of the content.
	openXZBeginning = opener{func(s *source) (io.Reader, error) {
		head, err := s.Peek(xzHeadLen + maxBlockHead)
		if len(head) < xzHeadLen {
			return nil, err
		}
		b, n, err := blockHeader(head[xzHeadLen:])
		if err != nil {
			return nil, err
		}
		if _, err := s.Discard(xzHeadLen + n); err != nil {
			return nil, err
		}
		d := lzma.NewDecoder(s.b)
		return closingReader{lzma.NewChunks(d, s, uint64(b.window)), d}, nil
	}, lzma.Held, false}
)
