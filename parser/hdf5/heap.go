package hdf5

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A fractalHeap holds links or attributes in blocks, which a table of rows finds: the blocks
// of a row have one size, that of the first two rows is the smallest, and each further row
// doubles it.
type fractalHeap struct {
	d       *decoder
	address uint64
	idLen   int
	flags   byte

	hugeTree         uint64
	hugeLen          int
	width, start     uint64 // blocks of a row, bytes of a block of the first row
	maxDirect        uint64 // bytes of a block with objects; larger ones have a table of their own
	offBytes, length int    // of a place and of a length in an identifier
	root             uint64
	rows             uint64          // of the table at the root; 0 if the root is a block with objects
	blocks           map[uint64]bool // that were checked
	huge             map[uint64][2]uint64
}

// heapSums says that blocks of a heap have checksums.
const heapSums = 2

// fractalHeap reads the header of a heap:
//
//	"FRHP", version 0, u16 length of identifiers, u16 length of filters, flags, u32 largest object in blocks,
//	u64 next huge, u64 tree of huge, u64 free, u64 manager, u64 size, u64 allocated, u64 offset, u64 objects,
//	u64 and u64 of huge, u64 and u64 of tiny, u16 width, u64 first size, u64 largest block, u16 bits of the size,
//	u16 rows at first, u64 root, u16 rows, checksum
func (d *decoder) fractalHeap(address uint64) (*fractalHeap, error) {
	const where, head = inHeap, 142
	if err := d.claim(address); err != nil {
		return nil, err
	}
	if err := d.at(where, address); err != nil {
		return nil, err
	}
	at := d.c
	if err := d.signature(where, "FRHP", 0); err != nil {
		return nil, err
	}
	d.c = at
	p, err := d.c.View(head)
	if err != nil {
		return nil, err
	}
	u16 := d.c.Order.Uint16
	h := &fractalHeap{
		d: d, address: address, idLen: int(u16(p[5:])), flags: p[9], hugeTree: le64(p[22:]),
		width: uint64(u16(p[110:])), start: le64(p[112:]), maxDirect: le64(p[120:]), root: le64(p[132:]), rows: uint64(u16(p[140:])),
		blocks: map[uint64]bool{},
	}
	if err := h.measure(u16(p[7:]), uint64(le32(p[10:])), u16(p[128:])); err != nil {
		return nil, d.fail(where, at.Off(), err)
	}
	return h, d.sum(where, head)
}

// measure checks the numbers of a heap: its filters, its largest object, the bits of its size.
func (h *fractalHeap) measure(filters uint16, maxObject uint64, maxBits uint16) error {
	switch {
	case filters != 0:
		return errFeature.Errorf("a heap through filters")
	case !isPower(h.width) || !isPower(h.start) || !isPower(h.maxDirect) || h.start > h.maxDirect || h.maxDirect > wire.Chunk || h.width > 1<<10:
		return errFeature.Errorf("rows of %d blocks of %d to %d bytes", h.width, h.start, h.maxDirect)
	case maxBits < 8 || maxBits > 64 || h.rows > 64:
		return errFeature.Errorf("%d rows of a heap of %d bits", h.rows, maxBits)
	case maxObject == 0 || maxObject > h.maxDirect:
		return errFeature.Errorf("objects of %d bytes in blocks of %d", maxObject, h.maxDirect)
	}
	h.offBytes = (int(maxBits) + 7) / 8
	h.length = min((bits.Len64(h.maxDirect)-1+7)/8, bytesFor(maxObject))
	if h.idLen < 1+h.offBytes+h.length || h.idLen > 16 {
		return errFeature.Errorf("identifiers of %d bytes", h.idLen)
	}
	h.hugeLen = min(h.idLen-1, 8)
	return nil
}

func isPower(n uint64) bool { return n > 0 && n&(n-1) == 0 }

// object returns the bytes of an object: an identifier is its kind, its offset in the heap and its
// length.
func (h *fractalHeap) object(id []byte) (c wire.Cursor, err error) {
	const where, managed, huge = inHeap, 0, 1
	d := h.d
	if len(id) < h.idLen {
		return c, d.fail(where, d.c.Off(), errStructure.Errorf("identifiers of %d bytes, not %d", len(id), h.idLen))
	}
	switch kind := id[0]; kind {
	case managed << 4:
		off, n := little(id[1:1+h.offBytes]), little(id[1+h.offBytes:1+h.offBytes+h.length])
		return h.managed(off, n)
	case huge << 4:
		return h.hugeObject(little(id[1 : 1+h.hugeLen]))
	default:
		return c, d.fail(where, d.c.Off(), errFeature.Errorf("an object of kind %#x", kind))
	}
}

// little reads an integer of up to eight bytes.
func little(p []byte) (n uint64) {
	for i, x := range p {
		n |= uint64(x) << (8 * i)
	}
	return n
}

// size returns how many bytes a block of a row has.
func (h *fractalHeap) size(row uint64) uint64 { return h.start << max(row, 1) >> 1 }

// managed finds an object in a block: down the tables, in each to the row and the block of the
// row in which it lies.
func (h *fractalHeap) managed(off, n uint64) (c wire.Cursor, err error) {
	d := h.d
	directRows := uint64(bits.Len64(h.maxDirect)-bits.Len64(h.start)) + 2
	b := heapBlock{h.root, 0, h.start, h.rows}
	for b.rows > 0 {
		if err := d.steps.Step(); err != nil {
			return c, d.fail(inHeap, d.c.Off(), err)
		}
		if b, err = h.below(b, off, directRows); err != nil {
			return c, err
		}
	}
	if err := h.block(b.address, b.begin, b.size); err != nil {
		return c, err
	}
	head := h.head(h.flags&heapSums != 0)
	if off < b.begin || off-b.begin < head || n > b.size || off-b.begin > b.size-n || n == 0 {
		return c, d.fail(inHeap, d.place(b.address), errStructure.Errorf("an object of %d bytes at %d, in a block of %d at %d", n, off, b.size, b.begin))
	}
	if err := d.at(inHeap, b.address); err != nil {
		return c, err
	}
	if err := d.c.Skip(off - b.begin); err != nil {
		return c, err
	}
	return d.c.Sub(n)
}

// A heapBlock is one of a heap: where it lies and begins in the heap, its bytes with objects, or
// the rows of its table.
type heapBlock struct{ address, begin, size, rows uint64 }

// below finds the block of a table in which a place lies.
func (h *fractalHeap) below(in heapBlock, off, directRows uint64) (b heapBlock, err error) {
	d := h.d
	if err := h.table(in.address, in.begin, in.rows, directRows); err != nil {
		return b, err
	}
	row, first := uint64(0), in.begin
	for row < in.rows && off-first >= h.width*h.size(row) {
		first += h.width * h.size(row)
		row++
	}
	if row == in.rows || off < in.begin {
		return b, d.fail(inHeap, d.place(in.address), errStructure.Errorf("an object at %d, beyond the end", off))
	}
	b.size = h.size(row)
	col := (off - first) / b.size
	b.begin = first + col*b.size
	if err := d.at(inHeap, in.address); err != nil {
		return b, err
	}
	if err := d.c.Skip(h.head(false) + 8*(row*h.width+col)); err != nil {
		return b, err
	}
	if row >= directRows {
		b.rows = uint64(bits.Len64(b.size)-bits.Len64(h.start*h.width)) + 1
	}
	b.address, err = d.c.U64()
	return b, err
}

const inHeap = "heap" // the place of an error

// head returns how many bytes precede what is in a block: signature, version, the heap, inHeap
// the block begins, and the checksum of one with objects.
func (h *fractalHeap) head(sum bool) uint64 {
	n := 4 + 1 + 8 + uint64(h.offBytes)
	if sum {
		n += 4
	}
	return n
}

// begins checks the beginning of a block. It leaves the cursor there.
func (h *fractalHeap) begins(sign string, address, begin uint64) error {
	d := h.d
	if err := d.at(inHeap, address); err != nil {
		return err
	}
	at := d.c
	if err := d.signature(inHeap, sign, 0); err != nil {
		return err
	}
	heap, err := d.c.U64()
	if err != nil {
		return err
	}
	is, err := number(&d.c, h.offBytes)
	if err != nil {
		return err
	}
	if heap != h.address || is != begin {
		return d.fail(inHeap, at.Off(), errStructure.Errorf("a block of the heap at %#x for %d, not of that at %#x for %d", heap, is, h.address, begin))
	}
	d.c = at
	return nil
}

// check notes a block that is checked, and reports whether it was before.
func (h *fractalHeap) check(address uint64) (before bool, err error) {
	if h.blocks[address] {
		return true, nil
	}
	if err := h.d.claim(address); err != nil {
		return false, err
	}
	if err := h.d.b.Hold(32); err != nil {
		return false, err
	}
	h.blocks[address] = true
	return false, nil
}

// table checks a block with addresses of blocks.
func (h *fractalHeap) table(address, begin, rows, directRows uint64) error {
	before, err := h.check(address)
	if before || err != nil {
		return err
	}
	if rows > directRows+32 {
		return h.d.fail(inHeap, h.d.place(address), errStructure.Errorf("%d rows", rows))
	}
	if err := h.begins("FHIB", address, begin); err != nil {
		return err
	}
	return h.d.sum(inHeap, h.head(false)+8*rows*h.width)
}

// block checks a block with objects.
func (h *fractalHeap) block(address, begin, size uint64) error {
	d := h.d
	before, err := h.check(address)
	if before || err != nil {
		return err
	}
	if size > h.maxDirect || size <= h.head(h.flags&heapSums != 0) {
		return d.fail(inHeap, d.place(address), errStructure.Errorf("a block of %d bytes with objects", size))
	}
	if err := h.begins("FHDB", address, begin); err != nil || h.flags&heapSums == 0 {
		return err
	}
	if err := d.b.Step(int64(size / bytesOfStep)); err != nil {
		return d.fail(inHeap, d.c.Off(), err)
	}
	p, err := d.c.View(int(size))
	if err != nil {
		return err
	}
	// The checksum is that of the block with zeros in its place.
	at := int(h.head(false))
	stated := le32(p[at:])
	x := newLookup3(size)
	var part [sumBlock]byte
	for i := 0; ; i += sumBlock {
		n := copy(part[:], p[i:])
		for k := max(i, at); k < min(i+n, at+4); k++ {
			part[k-i] = 0
		}
		if len(p)-i <= sumBlock {
			if is := x.last(part[:n]); is != stated {
				return d.fail(inHeap, d.c.Off(), errChecksum.Errorf("it is %08x, and %08x is stated", is, stated))
			}
			return nil
		}
		x.block(part[:])
	}
}

// hugeObject finds an object outside of the blocks, by its number.
func (h *fractalHeap) hugeObject(number uint64) (c wire.Cursor, err error) {
	const record = 24 // u64 address, u64 length, u64 number
	d := h.d
	if h.huge == nil {
		h.huge = map[uint64][2]uint64{}
		err := d.tree2(inHeap, h.hugeTree, treeHuge, func(int) int { return record }, func(p []byte) error {
			if err := d.b.Hold(48); err != nil {
				return err
			}
			h.huge[le64(p[16:])] = [2]uint64{le64(p), le64(p[8:])}
			return nil
		})
		if err != nil {
			return c, err
		}
	}
	place, ok := h.huge[number]
	if !ok {
		return c, d.fail(inHeap, d.c.Off(), errStructure.Errorf("the heap has no object %d", number))
	}
	if err := d.claim(place[0]); err != nil {
		return c, err
	}
	if err := d.at(inHeap, place[0]); err != nil {
		return c, err
	}
	return d.c.Sub(place[1])
}
