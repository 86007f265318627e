package hdf5

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

const heapWhere = "heap of a group or of attributes"

// A fractal is a fractal heap, in which many links of a group or many attributes of an object
// stand. Its blocks form a table: a row has width blocks, those of the first two rows have the
// size of the first, and each further row has blocks of twice the size. Up to a size blocks are
// direct, with parts in them; larger ones are tables again.
type fractal struct {
	at         uint64
	summed     bool // its direct blocks have checksums
	maxPart    uint64
	hugeTree   uint64
	width      uint64
	first      uint64 // size of the smallest block
	maxDirect  uint64
	offsetLen  int // bytes of an offset in it
	lengthLen  int // bytes of a length
	root, rows uint64
	huge       map[uint64]chunk // parts that have a place of their own, once one was asked for
	// What was read of it: its blocks, and its parts, by their addresses.
	blocks, parts map[uint64]bool
}

// fractal reads the header of a heap:
//
//	"FRHP", version 0, u16 length of identifiers, u16 of filters, flags, u32 largest part, 6 u64 of huge parts and free
//	space, 8 u64 of counts, u16 width, u64 first, u64 largest direct block, u16 bits of an offset, u16 rows at the
//	beginning, u64 root, u16 rows, u32 sum
func (f *file) fractal(address uint64, identifier int) (*fractal, error) {
	const size, maxBits, maxBlock, maxWidth, filtered, summed = 142, 62, 1 << 26, 1 << 10, 2, 2
	if err := f.summed(heapWhere, address, size); err != nil {
		return nil, err
	}
	if err := f.at(heapWhere, address); err != nil {
		return nil, err
	}
	p, err := f.c.View(size)
	if err != nil {
		return nil, err
	}
	u16, u64 := f.c.Order.Uint16, f.c.Order.Uint64
	h := &fractal{at: address, summed: p[9]&summed != 0, maxPart: uint64(f.c.Order.Uint32(p[10:])), hugeTree: u64(p[22:]), width: uint64(u16(p[110:])), first: u64(p[112:]),
		maxDirect: u64(p[120:]), root: u64(p[132:]), rows: uint64(u16(p[140:]))}
	offsetBits := int(u16(p[128:]))
	switch {
	case string(p[:5]) != "FRHP\x00":
		return nil, f.fail(heapWhere, int64(address), errStructure.Errorf("it begins with % x", p[:5]))
	case u16(p[7:]) != 0:
		return nil, f.fail(heapWhere, int64(address), errFeature.Errorf("a heap whose blocks pass filters"))
	case h.width == 0, h.width&(h.width-1) != 0, h.first == 0, h.first&(h.first-1) != 0, h.maxDirect&(h.maxDirect-1) != 0, h.maxDirect < h.first,
		h.width > maxWidth, h.maxDirect > maxBlock, offsetBits > maxBits, h.rows > maxBits, h.maxPart > h.maxDirect:
		return nil, f.fail(heapWhere, int64(address), errStructure.Errorf("rows of %d blocks of %d to %d bytes, offsets of %d bits", h.width, h.first, h.maxDirect, offsetBits))
	}
	h.offsetLen = (offsetBits + 7) / 8
	h.lengthLen = min((bits.Len64(h.maxDirect)-1+7)/8, lengthOf(h.maxPart))
	if got := int(u16(p[5:])); got != identifier || 1+h.offsetLen+h.lengthLen > identifier {
		return nil, f.fail(heapWhere, int64(address), errStructure.Errorf("identifiers of %d bytes, for offsets of %d and lengths of %d", got, h.offsetLen, h.lengthLen))
	}
	h.blocks, h.parts = map[uint64]bool{}, map[uint64]bool{}
	return h, f.claim(address)
}

// lengthOf is how many bytes numbers up to a limit have.
func lengthOf(limit uint64) int { return (bits.Len64(max(limit, 1))-1)/8 + 1 }

// number reads a number of so many bytes.
func number(p []byte) (n uint64) {
	for i, c := range p {
		n |= uint64(c) << (8 * i)
	}
	return n
}

// part returns a cursor over the part of a heap that an identifier names. known says that it was
// looked at already: an index by name and one by age name the same parts.
func (f *file) part(h *fractal, id []byte) (m wire.Cursor, known bool, err error) {
	const kinds, managed, huge = 0xf0, 0, 0x10
	at := f.c.Off()
	var in chunk
	switch id[0] & kinds {
	case managed:
		in, err = f.managed(h, number(id[1:1+h.offsetLen]), number(id[1+h.offsetLen:1+h.offsetLen+h.lengthLen]))
	case huge:
		in, err = f.hugePart(h, number(id[1:]))
	default:
		return m, false, f.fail(heapWhere, at, errFeature.Errorf("a part of kind %#x", id[0]))
	}
	if err != nil || h.parts[in.at] {
		return m, true, err
	}
	if id[0]&kinds == huge { // else its block is claimed
		if err := f.claim(in.at); err != nil {
			return m, false, err
		}
	}
	if err := f.note(h.parts, in.at); err != nil {
		return m, false, err
	}
	if err := f.at(heapWhere, in.at); err != nil {
		return m, false, err
	}
	m, err = f.c.Sub(in.size)
	return m, false, err
}

// managed finds a part by its offset in the space of a heap.
func (f *file) managed(h *fractal, offset, size uint64) (chunk, error) {
	block, rows, base := h.root, h.rows, uint64(0)
	for length := h.first; ; {
		if err := f.steps.Step(); err != nil {
			return chunk{}, f.fail(heapWhere, f.c.Off(), err)
		}
		if rows == 0 {
			return f.inBlock(h, block, base, length, offset, size)
		}
		row, column, from := h.entry(offset - base)
		if row >= rows {
			return chunk{}, f.fail(heapWhere, int64(h.at), errStructure.Errorf("an offset of %d, in a heap with %d rows", offset, rows))
		}
		direct := h.directRows()
		if err := f.table(h, block, base, rows); err != nil {
			return chunk{}, err
		}
		if err := f.c.Skip((row*h.width + column) * 8); err != nil {
			return chunk{}, err
		}
		var err error
		if block, err = f.c.U64(); err != nil {
			return chunk{}, err
		}
		base += from
		if length = h.blockSize(row); row < direct {
			rows = 0
		} else {
			rows = uint64(bits.Len64(length) - bits.Len64(h.first*h.width) + 1)
		}
	}
}

// blockSize is the size of the blocks of a row.
func (h *fractal) blockSize(row uint64) uint64 {
	if row == 0 {
		return h.first
	}
	return h.first << (row - 1)
}

// directRows is how many rows have direct blocks.
func (h *fractal) directRows() uint64 {
	return uint64(bits.Len64(h.maxDirect) - bits.Len64(h.first) + 2)
}

// entry returns the row and the column of the block that holds an offset, and where it begins.
func (h *fractal) entry(offset uint64) (row, column, from uint64) {
	if all := h.first * h.width; offset >= all {
		row = uint64(bits.Len64(offset / all))
		from = all << (row - 1)
	}
	size := h.blockSize(row)
	column = (offset - from) / size
	return row, column, from + column*size
}

// table goes to the addresses in a table of blocks:
//
//	"FHIB", version 0, u64 header, offset of the first block, then u64 for each block, u32 sum
func (f *file) table(h *fractal, address, base, rows uint64) error {
	return f.block(h, "FHIB", address, base, rows*h.width*8, true)
}

// inBlock returns the place of a part in a direct block:
//
//	"FHDB", version 0, u64 header, offset of the block, [u32 sum], then the parts
//
// Offsets count these too.
func (f *file) inBlock(h *fractal, address, base, length, offset, size uint64) (chunk, error) {
	head := uint64(13 + h.offsetLen)
	if h.summed {
		head += 4
	}
	if length < head {
		return chunk{}, f.fail(heapWhere, int64(h.at), errStructure.Errorf("a block of %d bytes", length))
	}
	if err := f.block(h, "FHDB", address, base, length, false); err != nil {
		return chunk{}, err
	}
	if in := offset - base; in < head || size > length || in > length-size || size == 0 {
		return chunk{}, f.fail(heapWhere, int64(address), errStructure.Errorf("a part of %d bytes at %d of a block of %d", size, in, length))
	}
	return chunk{address + offset - base, size}, nil
}

// block checks the beginning of a block, and its sum when it is met first, and goes behind it. size
// is that of what follows in a table, and of all in a direct block.
func (f *file) block(h *fractal, mark string, address, base, size uint64, table bool) error {
	head := uint64(13 + h.offsetLen)
	if !h.blocks[address] {
		var err error
		switch {
		case table:
			err = f.summed(heapWhere, address, head+size)
		case h.summed:
			err = f.sumOf(heapWhere, address, size, head)
		case address > uint64(f.size) || size > uint64(f.size)-address:
			err = f.fail(heapWhere, int64(h.at), wire.ErrTruncated.Errorf("a block of %d bytes at %#x, in a file of %d", size, address, f.size))
		}
		if err != nil {
			return err
		}
		if err := f.claim(address); err != nil {
			return err
		}
		if err := f.note(h.blocks, address); err != nil {
			return err
		}
	}
	if err := f.at(heapWhere, address); err != nil {
		return err
	}
	p, err := f.c.View(int(head))
	if err != nil {
		return err
	}
	if string(p[:4]) != mark || p[4] != 0 || f.c.Order.Uint64(p[5:]) != h.at || number(p[13:]) != base {
		return f.fail(heapWhere, int64(address), errStructure.Errorf("it begins with % x, and is no %q of this heap at %d", p, mark, base))
	}
	return f.c.Skip(head)
}

// hugePart finds a part with a place of its own by its number.
func (f *file) hugePart(h *fractal, id uint64) (chunk, error) {
	if h.huge == nil {
		h.huge = map[uint64]chunk{}
		const record = 24
		err := f.tree(h.hugeTree, treeOfHuge, record, func(p []byte) error {
			const cost = 48 // of an entry of the map
			if err := f.b.Items(1); err != nil {
				return f.fail(heapWhere, f.c.Off(), err)
			}
			if err := f.b.Alloc(cost); err != nil {
				return f.fail(heapWhere, f.c.Off(), err)
			}
			h.huge[f.c.Order.Uint64(p[16:])] = chunk{f.c.Order.Uint64(p), f.c.Order.Uint64(p[8:])}
			return nil
		})
		if err != nil {
			return chunk{}, err
		}
	}
	in, ok := h.huge[id]
	if !ok {
		return in, f.fail(heapWhere, int64(h.at), errStructure.Errorf("the heap has no part %d", id))
	}
	return in, nil
}
