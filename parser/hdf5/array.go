package hdf5

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/limits"
)

// clients are what an array is for: chunks, and chunks through filters.
const (
	clientChunks   = 0
	clientFiltered = 1
)

// entrySize checks the beginning of the header of an array: client and bytes of an entry.
func (x *index) entrySize(client, size byte) (int, error) {
	want := byte(clientChunks)
	if len(x.s.filters) > 0 {
		want = clientFiltered
	}
	n := int(size)
	if client != want || want == clientChunks && n != 8 || want == clientFiltered && (n < 8+4+1 || n > 8+4+8) {
		return 0, errStructure.Errorf("an array of kind %d of entries of %d bytes", client, n)
	}
	return n, nil
}

// An array finds the entry of a chunk by its number.
type array interface {
	// entry moves the cursor to an entry, or reports false if it was never written.
	entry(number uint64) (bool, error)
}

// fill adds the chunks of the dataset as it is. An entry is u64 address, and for chunks that pass
// through filters the size and u32 mask; all ones are the address of a chunk that was not written.
func (x *index) fill(a array, size int) error {
	d := x.d
	return x.each(func(at []uint64, number uint64) error {
		there, err := a.entry(number)
		if err != nil || !there {
			return err
		}
		f := fields{c: &d.c}
		address, bytes, mask := f.u64(), x.size, uint32(0)
		if size > 8 {
			bytes, mask = f.u(size-12), f.u32()
		}
		if f.err != nil || address == none {
			return f.err
		}
		return x.add(at, address, bytes, mask)
	})
}

// A fixedArray has an entry for each chunk, in one block, which has pages if it is large.
type fixedArray struct {
	x        *index
	entries  uint64
	size     int
	pageBits uint
	data     uint64 // the first entry
	pages    []byte // a bit for each page that was written, the highest first; nil without pages
}

// fixed reads a fixed array:
//
//	"FAHD", version 0, client, bytes of an entry, bits of a page, u64 entries, u64 block, checksum
//	"FADB", version 0, client, u64 header, [bits of pages, checksum], entries, checksum
func (x *index) fixed() error {
	const where, head, maxPageBits = "array of chunks", 24, 24
	d := x.d
	if err := x.open(where, "FAHD", head); err != nil {
		return err
	}
	at := d.c.Off()
	f := fields{c: &d.c}
	f.skip(5)
	client, size, pageBits := f.u8(), f.u8(), f.u8()
	a := &fixedArray{x: x, pageBits: uint(pageBits), entries: f.u64()}
	block := f.u64()
	if f.err != nil {
		return f.err
	}
	var err error
	if a.size, err = x.entrySize(client, size); err != nil {
		return d.fail(where, at, err)
	}
	if pageBits > maxPageBits || pageBits != x.l.info.pageBits || a.entries > 1<<40 {
		return d.fail(where, at, errStructure.Errorf("%d entries in pages of %d bits, and the layout states %d", a.entries, a.pageBits, x.l.info.pageBits))
	}
	if block == none {
		return nil
	}
	if err := d.claim(block); err != nil {
		return err
	}
	if err := x.begins(where, "FADB", block, client); err != nil {
		return err
	}
	if err := a.sums(where, block); err != nil {
		return err
	}
	return x.fill(a, a.size)
}

// sums proves the checksums of the block with the entries, or of its pages.
func (a *fixedArray) sums(where string, block uint64) (err error) {
	const head = 14
	d := a.x.d
	a.data = block + head
	if a.entries <= 1<<a.pageBits {
		if err := d.at(where, block); err != nil {
			return err
		}
		return d.sum(where, head+a.entries*uint64(a.size))
	}
	pages := a.pageOf(a.entries-1) + 1
	if a.pages, err = d.pageBits(where, block, head, pages); err != nil {
		return err
	}
	a.data += uint64(len(a.pages)) + 4
	for i := range pages {
		if !a.has(i) {
			continue
		}
		if err := d.page(where, a.pageAt(i), min(a.entries-i<<a.pageBits, 1<<a.pageBits)*uint64(a.size)); err != nil {
			return err
		}
	}
	return nil
}

// open goes to the header of an array and proves its checksum.
func (x *index) open(where, sign string, head uint64) error {
	d := x.d
	if err := d.claim(x.l.at); err != nil {
		return err
	}
	if err := d.at(where, x.l.at); err != nil {
		return err
	}
	if err := d.sum(where, head); err != nil {
		return err
	}
	at := d.c
	defer func() { d.c = at }()
	return d.signature(where, sign, 0)
}

// begins checks the beginning of a block of an array. It leaves the cursor after it.
func (x *index) begins(where, sign string, address uint64, client byte) error {
	d := x.d
	if err := d.at(where, address); err != nil {
		return err
	}
	at := d.c.Off()
	if err := d.signature(where, sign, 0); err != nil {
		return err
	}
	is, err := d.c.U8()
	if err != nil {
		return err
	}
	header, err := d.c.U64()
	if err != nil {
		return err
	}
	if is != client || header != x.l.at {
		return d.fail(where, at, errStructure.Errorf("a block of the array at %#x, not of that at %#x", header, x.l.at))
	}
	return nil
}

// pageBits reads which pages of a block were written, and proves the checksum of what precedes
// the pages.
func (d *decoder) pageBits(where string, block, head, pages uint64) ([]byte, error) {
	n := (pages + 7) / 8
	if err := d.at(where, block); err != nil {
		return nil, err
	}
	if err := d.sum(where, head+n); err != nil {
		return nil, err
	}
	if err := d.c.Skip(head); err != nil {
		return nil, err
	}
	return d.c.Bytes(n)
}

// page proves the checksum of a page.
func (d *decoder) page(where string, at, bytes uint64) error {
	if err := d.claim(at); err != nil {
		return err
	}
	if err := d.at(where, at); err != nil {
		return err
	}
	return d.sum(where, bytes)
}

func (a *fixedArray) pageOf(number uint64) uint64 { return number >> a.pageBits }
func (a *fixedArray) has(page uint64) bool        { return a.pages[page/8]>>(7-page%8)&1 != 0 }

// pageAt returns where a page begins: all before it are whole.
func (a *fixedArray) pageAt(page uint64) uint64 {
	return a.data + page*(uint64(a.size)<<a.pageBits+4)
}

func (a *fixedArray) entry(number uint64) (bool, error) {
	if number >= a.entries {
		return false, errStructure.Errorf("chunk %d in an array of %d", number, a.entries)
	}
	at := a.data + number*uint64(a.size)
	if a.pages != nil {
		page := a.pageOf(number)
		if !a.has(page) {
			return false, nil
		}
		at = a.pageAt(page) + number&(1<<a.pageBits-1)*uint64(a.size)
	}
	return true, a.x.d.at("array of chunks", at)
}

// An extensibleArray grows: some entries are in its index, then come blocks of entries, and
// blocks with addresses of such blocks, which are twice as many or twice as long from one to the
// next.
type extensibleArray struct {
	x           *index
	size        int
	client      byte
	inIndex     uint64 // entries in the index
	first       uint64 // entries of the first blocks
	pageEntries uint64
	offBytes    int
	block       uint64 // the index
	direct      uint64 // addresses of blocks in the index
	supers      uint64 // blocks of addresses
	groups      []superGroup
	known       map[uint64]bool // blocks that were checked
	pages       map[uint64][]byte
}

// A superGroup is blocks of one length: those of one block of addresses.
type superGroup struct{ blocks, entries, firstEntry, firstBlock uint64 }

// extensible reads an extensible array:
//
//	"EAHD", version 0, client, bytes of an entry, bits of a number, entries in the index, entries of the first block,
//	addresses of the first block of addresses, bits of a page, 6 u64, u64 index, checksum
//	"EAIB", version 0, client, u64 header, entries, addresses of blocks, addresses of blocks of addresses, checksum
func (x *index) extensible() error {
	const where, head = "array of chunks", 68
	d := x.d
	if err := x.open(where, "EAHD", head); err != nil {
		return err
	}
	at := d.c.Off()
	f := fields{c: &d.c}
	f.skip(5)
	client, size := f.u8(), f.u8()
	stated := indexInfo{maxBits: f.u8(), inIndex: f.u8(), minElements: f.u8(), minBlocks: f.u8(), pageBits: f.u8()}
	f.skip(48)
	a := &extensibleArray{x: x, client: client, inIndex: uint64(stated.inIndex), first: uint64(stated.minElements), block: f.u64(), known: map[uint64]bool{}, pages: map[uint64][]byte{}}
	if f.err != nil {
		return f.err
	}
	if stated != x.l.info {
		return d.fail(where, at, errStructure.Errorf("numbers %v of the array, and the layout states %v", stated, x.l.info))
	}
	var err error
	if a.size, err = x.entrySize(client, size); err != nil {
		return d.fail(where, at, err)
	}
	if err := a.measure(stated); err != nil {
		return d.fail(where, at, err)
	}
	if a.block == none {
		return nil
	}
	if err := a.openIndex(where); err != nil {
		return err
	}
	return x.fill(a, a.size)
}

// openIndex proves the index.
func (a *extensibleArray) openIndex(where string) error {
	d := a.x.d
	if err := d.claim(a.block); err != nil {
		return err
	}
	if err := a.x.begins(where, "EAIB", a.block, a.client); err != nil {
		return err
	}
	if err := d.at(where, a.block); err != nil {
		return err
	}
	return d.sum(where, arrayHead+a.inIndex*uint64(a.size)+8*(a.direct+a.supers))
}

// measure computes how many blocks there are, and of how many entries.
func (a *extensibleArray) measure(info indexInfo) (err error) {
	maxBits, minBlocks := int(info.maxBits), uint64(info.minBlocks)
	if maxBits < 1 || maxBits > 62 || !isPower(a.first) || !isPower(minBlocks) || minBlocks < 2 || info.pageBits > 24 || bits.Len64(a.first) > maxBits {
		return errFeature.Errorf("an array of %d bits, first blocks of %d entries, %d addresses, pages of %d bits", maxBits, a.first, minBlocks, info.pageBits)
	}
	a.pageEntries, a.offBytes = 1<<info.pageBits, (maxBits+7)/8
	groups := maxBits - bits.Len64(a.first) + 2
	if a.groups, err = limits.Make[superGroup](a.x.d.b, groups); err != nil {
		return err
	}
	next := superGroup{}
	for i := range a.groups {
		g := &a.groups[i]
		*g = superGroup{1 << (i / 2), a.first << ((i + 1) / 2), next.firstEntry, next.firstBlock}
		next.firstEntry += g.blocks * g.entries
		next.firstBlock += g.blocks
	}
	inIndex := 2 * (bits.Len64(minBlocks) - 1)
	if inIndex > groups {
		return errFeature.Errorf("%d addresses of blocks in an index of %d bits", minBlocks, maxBits)
	}
	a.direct, a.supers = 2*(minBlocks-1), uint64(groups-inIndex)
	return nil
}

func (a *extensibleArray) entry(number uint64) (bool, error) {
	const where = "array of chunks"
	d, size := a.x.d, uint64(a.size)
	if number < a.inIndex {
		return true, d.at(where, a.block+arrayHead+number*size)
	}
	number -= a.inIndex
	k := 0
	for k < len(a.groups)-1 && number >= a.groups[k+1].firstEntry {
		k++
	}
	g := a.groups[k]
	number -= g.firstEntry
	nth := number / g.entries
	if nth >= g.blocks {
		return false, errStructure.Errorf("a chunk beyond the end of the array")
	}
	super, there, err := a.find(k, g, nth)
	if err != nil || !there {
		return false, err
	}
	block, err := d.c.U64()
	if err != nil || block == none {
		return false, err
	}
	return a.inBlock(block, g, nth, number%g.entries, super)
}

// arrayHead is what each block of an array begins with: signature, version, client, u64 header.
const arrayHead = 14

// find moves to the address of a block: in the index, or in the block of addresses that the index
// leads to, whose address it returns.
func (a *extensibleArray) find(k int, g superGroup, nth uint64) (super uint64, there bool, err error) {
	const where = "array of chunks"
	d := a.x.d
	addresses := a.block + arrayHead + a.inIndex*uint64(a.size)
	inIndex := uint64(len(a.groups)) - a.supers
	if uint64(k) < inIndex {
		return 0, true, d.at(where, addresses+8*(g.firstBlock+nth))
	}
	if err := d.at(where, addresses+8*(a.direct+uint64(k)-inIndex)); err != nil {
		return 0, false, err
	}
	super, err = d.c.U64()
	if err != nil || super == none {
		return 0, false, err
	}
	if err := a.super(super, g); err != nil {
		return 0, false, err
	}
	return super, true, d.at(where, super+arrayHead+uint64(a.offBytes)+g.blocks*a.bitBytes(g)+8*nth)
}

// bitBytes returns how many bytes of bits a block of addresses has for the pages of each block.
func (a *extensibleArray) bitBytes(g superGroup) uint64 {
	if g.entries <= a.pageEntries {
		return 0
	}
	return (g.entries/a.pageEntries + 7) / 8
}

// super checks a block of addresses once:
//
//	"EASB", version 0, client, u64 header, number of the first entry, bits of pages, addresses, checksum
func (a *extensibleArray) super(at uint64, g superGroup) error {
	const where = "array of chunks"
	d := a.x.d
	if a.known[at] {
		return nil
	}
	if err := a.know(at); err != nil {
		return err
	}
	if err := a.begins("EASB", at, g.firstEntry); err != nil {
		return err
	}
	n := g.blocks * a.bitBytes(g)
	pageBits, err := d.c.Bytes(n)
	if err != nil {
		return err
	}
	a.pages[at] = pageBits
	if err := d.at(where, at); err != nil {
		return err
	}
	return d.sum(where, arrayHead+uint64(a.offBytes)+n+8*g.blocks)
}

// know notes a block that is checked.
func (a *extensibleArray) know(at uint64) error {
	if err := a.x.d.claim(at); err != nil {
		return err
	}
	if err := a.x.d.b.Hold(64); err != nil {
		return err
	}
	a.known[at] = true
	return nil
}

// begins checks the beginning of a block and the number of its first entry. It leaves the cursor
// after it.
func (a *extensibleArray) begins(sign string, at, first uint64) error {
	const where = "array of chunks"
	d := a.x.d
	if err := a.x.begins(where, sign, at, a.client); err != nil {
		return err
	}
	is, err := number(&d.c, a.offBytes)
	if err != nil {
		return err
	}
	if is != first {
		return d.fail(where, d.place(at), errStructure.Errorf("a block for the entries from %d, not from %d", is, first))
	}
	return nil
}

// inBlock moves to an entry of a block of entries:
//
//	"EADB", version 0, client, u64 header, number of the first entry, entries, checksum
//
// One with more entries than a page has the checksum before its pages, and one after each.
func (a *extensibleArray) inBlock(block uint64, g superGroup, nth, number, super uint64) (bool, error) {
	const where = "array of chunks"
	d, size, head := a.x.d, uint64(a.size), arrayHead+uint64(a.offBytes)
	paged := g.entries > a.pageEntries
	first := g.firstEntry + nth*g.entries
	if super == 0 { // the library counts from all blocks before it, not from those of its group
		first += g.firstBlock * g.entries
	}
	sized := head
	if !paged {
		sized += g.entries * size
	}
	if err := a.knowBlock(block, first, sized); err != nil {
		return false, err
	}
	if !paged {
		return true, d.at(where, block+head+number*size)
	}
	page := number / a.pageEntries
	if super == 0 {
		return false, d.fail(where, d.place(block), errFeature.Errorf("pages in a block that the index leads to"))
	}
	// Each block has bytes of its own for its bits, but the library counts bits only.
	bit := nth*(g.entries/a.pageEntries) + page
	if a.pages[super][bit/8]>>(7-bit%8)&1 == 0 {
		return false, nil
	}
	at := block + head + 4 + page*(a.pageEntries*size+4)
	if err := a.knowPage(at, a.pageEntries*size); err != nil {
		return false, err
	}
	return true, d.at(where, at+number%a.pageEntries*size)
}

// knowPage proves the checksum of a page once.
func (a *extensibleArray) knowPage(at, bytes uint64) error {
	const where = "array of chunks"
	if a.known[at] {
		return nil
	}
	if err := a.know(at); err != nil {
		return err
	}
	if err := a.x.d.at(where, at); err != nil {
		return err
	}
	return a.x.d.sum(where, bytes)
}

// knowBlock checks a block of entries once: its beginning and its checksum.
func (a *extensibleArray) knowBlock(block, first, bytes uint64) error {
	const where = "array of chunks"
	if a.known[block] {
		return nil
	}
	if err := a.know(block); err != nil {
		return err
	}
	if err := a.begins("EADB", block, first); err != nil {
		return err
	}
	if err := a.x.d.at(where, block); err != nil {
		return err
	}
	return a.x.d.sum(where, bytes)
}
