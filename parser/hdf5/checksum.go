package hdf5

import (
	"encoding/binary"
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A lookup3 is Bob Jenkins's hash of that name (hashlittle, 2006), which HDF5 uses as its
// checksum of metadata and its hash of names. It takes all bytes but the last ones in blocks
// of [sumBlock].
type lookup3 struct{ a, b, c uint32 }

const sumBlock = 12

// newLookup3 begins the hash of n bytes.
func newLookup3(n uint64) lookup3 {
	x := 0xdeadbeef + uint32(n)
	return lookup3{x, x, x}
}

// block adds a block that is not the last.
func (h *lookup3) block(p []byte) {
	a, b, c := h.a+binary.LittleEndian.Uint32(p), h.b+binary.LittleEndian.Uint32(p[4:]), h.c+binary.LittleEndian.Uint32(p[8:])
	a = a - c ^ bits.RotateLeft32(c, 4)
	c += b
	b = b - a ^ bits.RotateLeft32(a, 6)
	a += c
	c = c - b ^ bits.RotateLeft32(b, 8)
	b += a
	a = a - c ^ bits.RotateLeft32(c, 16)
	c += b
	b = b - a ^ bits.RotateLeft32(a, 19)
	a += c
	c = c - b ^ bits.RotateLeft32(b, 4)
	b += a
	h.a, h.b, h.c = a, b, c
}

// last adds the last 1 to 12 bytes and returns the hash. Without any byte it is what the hash
// began with.
func (h *lookup3) last(p []byte) uint32 {
	if len(p) == 0 {
		return h.c
	}
	var full [sumBlock]byte
	copy(full[:], p)
	a, b, c := h.a+binary.LittleEndian.Uint32(full[:]), h.b+binary.LittleEndian.Uint32(full[4:]), h.c+binary.LittleEndian.Uint32(full[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	c = (c ^ b) - bits.RotateLeft32(b, 24)
	return c
}

// hash returns the hash of bytes in memory.
func hash(p []byte) uint32 {
	h := newLookup3(uint64(len(p)))
	for len(p) > sumBlock {
		h.block(p)
		p = p[sumBlock:]
	}
	return h.last(p)
}

// bytesOfStep are the bytes of a checksum that are paid with one step.
const bytesOfStep = 64

// sum proves that the four bytes after n bytes from the cursor are their checksum. It leaves
// the cursor where it is.
func (d *decoder) sum(where string, n uint64) error {
	c := d.c
	at := c.Off()
	if n > uint64(c.Left()) {
		return c.Skip(n) // which says how many are missing
	}
	if err := d.b.Step(int64(n / bytesOfStep)); err != nil {
		return d.fail(where, at, err)
	}
	f := fields{c: &c}
	h, left := newLookup3(n), n
	for left > sumBlock {
		piece := min((left-1)/sumBlock*sumBlock, wire.Chunk/sumBlock*sumBlock)
		for p := f.view(int(piece)); len(p) >= sumBlock; p = p[sumBlock:] {
			h.block(p)
		}
		f.skip(piece)
		left -= piece
	}
	is := h.last(f.view(int(left)))
	f.skip(left)
	stated := f.u32()
	if f.err == nil && is != stated {
		return d.fail(where, at, errChecksum.Errorf("it is %08x, and %08x is stated", is, stated))
	}
	return f.err
}
