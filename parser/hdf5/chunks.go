package hdf5

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A chunk is one that was written: its number in row-major order of the chunks of the dataset,
// where it lies, and which filters were not applied.
type chunk struct {
	number    uint64
	off, size int64
	mask      uint32
}

// A grid is how a dataset is divided into chunks.
type grid struct {
	counts []uint64 // chunks along each dimension
	most   []uint64 // along each dimension as it may grow, unlimited if without end
	size   uint64   // bytes of a chunk
}

// chunked lists the chunks of a dataset.
func (d *decoder) chunked(s *dataset, l *layout, of *space) error {
	rank := len(l.dims) - 1
	if rank != len(s.space) || l.dims[rank] != s.typ.size {
		return d.fail("place of the data", l.off, errSize.Errorf("chunks of %d dimensions of elements of %d bytes, and the dataset has %d of %d", rank, l.dims[rank], len(s.space), s.typ.size))
	}
	return d.listChunks(s, l, of)
}

// listChunks reads the index of the chunks.
func (d *decoder) listChunks(s *dataset, l *layout, of *space) error {
	g := &grid{}
	if err := d.divide(s, l, of, g); err != nil {
		return err
	}
	if l.at == none {
		return nil
	}
	x := &index{d: d, s: s, l: l, grid: g}
	if err := x.read(); err != nil {
		return wire.At(Format, "chunks", d.place(l.at), err)
	}
	stored := int64(0)
	for i := range s.chunks {
		c := &s.chunks[i]
		if err := d.steps.Step(); err != nil {
			return err
		}
		if i > 0 && s.chunks[i-1].number >= c.number { // each index proves that it has them in order
			return d.fail("chunks", c.off, wire.ErrInternal.Errorf("chunk %d after chunk %d", c.number, s.chunks[i-1].number))
		}
		if err := d.span(c.off, c.size); err != nil {
			return err
		}
		stored = wire.AddCap(stored, c.size)
	}
	if s.compressed() {
		return d.b.Inflate(stored, int64(min(g.size*uint64(len(s.chunks)), 1<<62)))
	}
	return nil
}

// divide divides a dataset into chunks.
func (d *decoder) divide(s *dataset, l *layout, of *space, g *grid) (err error) {
	rank := len(s.space)
	s.place = inChunks
	g.size = l.dims[rank]
	if s.chunk, err = limits.Make[int64](d.b, rank); err != nil {
		return err
	}
	if g.counts, err = limits.Make[uint64](d.b, 2*rank); err != nil {
		return err
	}
	g.counts, g.most = g.counts[:rank], g.counts[rank:]
	for i := range rank {
		n := l.dims[i]
		s.chunk[i], g.size = int64(n), g.size*n
		g.counts[i] = (uint64(of.dims[i]) + n - 1) / n
		switch {
		case of.most == nil:
			g.most[i] = g.counts[i]
		case of.most[i] == unlimited:
			g.most[i] = unlimited
		default:
			g.most[i] = of.most[i]/n + min(of.most[i]%n, 1)
		}
	}
	s.size = int64(g.size)
	return nil
}

// An index is what finds the chunks of a dataset.
type index struct {
	d *decoder
	s *dataset
	l *layout
	*grid
}

func (x *index) read() error {
	switch x.l.index {
	case indexOldTree:
		return x.oldTree()
	case indexSingle:
		return x.single()
	case indexImplicit:
		return x.implicit()
	case indexFixed:
		return x.fixed()
	case indexExtensible:
		return x.extensible()
	}
	return x.tree()
}

// number returns the number of the chunk at a place of the grid.
func (x *index) number(at []uint64) (n uint64, ok bool) {
	for i, v := range at {
		if v >= x.counts[i] {
			return 0, false
		}
		n = n*x.counts[i] + v // at most the elements of the dataset
	}
	return n, true
}

// add keeps a chunk at a place of the grid.
func (x *index) add(at []uint64, address, size uint64, mask uint32) error {
	d := x.d
	number, ok := x.number(at)
	if !ok {
		return errStructure.Errorf("a chunk at %v of %v", at, x.counts)
	}
	end := uint64(d.size - d.base)
	switch {
	case address >= end || size > end-address:
		return wire.ErrTruncated.Errorf("%d bytes of a chunk at %#x, in a file of %d", size, address, end)
	case size == 0 || mask>>len(x.s.filters) != 0 && len(x.s.filters) > 0:
		return errStructure.Errorf("a chunk of %d bytes without the filters %#x", size, mask)
	}
	// The data of a chunk that is not compressed has a known size.
	want, sized := x.size, true
	for i, f := range x.s.filters {
		if mask>>i&1 != 0 {
			continue
		}
		if f.compresses() {
			sized = false
		}
		if f.number == filterFletcher32 {
			want += sumSize
		}
	}
	if sized && size != want {
		return errSize.Errorf("a chunk of %d bytes, and shape and type require %d", size, want)
	}
	if err := d.b.Items(1); err != nil {
		return err
	}
	list, err := limits.Append(d.b, x.s.chunks, chunk{number, d.base + int64(address), int64(size), mask})
	x.s.chunks = list
	return err
}

// single is one chunk for all, whose size is stated if it passes through filters.
func (x *index) single() error {
	size := x.size
	if x.l.info.filtered {
		size = x.l.info.size
	}
	if x.l.info.filtered != (len(x.s.filters) > 0) {
		return errStructure.Errorf("a single chunk whose filters are stated in one place only")
	}
	for _, n := range x.counts {
		if n > 1 {
			return errStructure.Errorf("a single chunk for %v", x.counts)
		}
		if n == 0 {
			return nil
		}
	}
	at, err := limits.Make[uint64](x.d.b, len(x.counts))
	if err != nil {
		return err
	}
	return x.add(at, x.l.at, size, x.l.info.mask)
}

// implicit is a place for each chunk, one after another.
func (x *index) implicit() error {
	if len(x.s.filters) > 0 {
		return errStructure.Errorf("chunks through filters without an index")
	}
	return x.each(func(at []uint64, number uint64) error {
		off, ok := wire.Mul(number, x.size)
		if ok {
			off, ok = wire.Add(off, x.l.at)
		}
		if !ok {
			return errStructure.Errorf("chunk %d is beyond the end", number)
		}
		return x.add(at, off, x.size, 0)
	})
}

// each visits the chunks of the dataset as it is, with their number as it may grow.
func (x *index) each(visit func(at []uint64, number uint64) error) error {
	at, err := limits.Make[uint64](x.d.b, len(x.counts))
	if err != nil {
		return err
	}
	if slices.Contains(x.counts, 0) {
		return nil
	}
	for {
		if err := x.d.steps.Step(); err != nil {
			return err
		}
		number, ok := x.numberAsGrown(at)
		if !ok {
			return errStructure.Errorf("more chunks than 62 bits can count")
		}
		if err := visit(at, number); err != nil {
			return err
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < x.counts[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// numberAsGrown returns the number of a chunk among all that the dataset may grow to. The
// dimension that may grow without end, of which there is one at most, is the first.
func (x *index) numberAsGrown(at []uint64) (uint64, bool) {
	free := slices.Index(x.most, unlimited)
	n, ok := uint64(0), true
	if free >= 0 {
		n = at[free]
	}
	for i, v := range at {
		if i == free {
			continue
		}
		if x.most[i] == unlimited {
			return 0, false
		}
		if n, ok = wire.Mul(n, x.most[i]); ok {
			n, ok = wire.Add(n, v)
		}
		if !ok || n > 1<<62 {
			return 0, false
		}
	}
	return n, true
}

// A chunkNode is one of the older trees: the chunks from a place of the grid up to another one.
type chunkNode struct {
	at        uint64
	level     uint8
	from, end []uint64 // nil for the root
}

// oldTree reads the tree of layouts of version 3:
//
//	"TREE", type 1, level, u16 entries, u64 left, u64 right, then for each: key, u64 address; key
//
// A key is u32 size, u32 mask, and u64 for each dimension and one more: the place of the first
// element of a chunk. The library compares the one more too, which is 0 but in a last key.
func (x *index) oldTree() error {
	d := x.d
	todo := []chunkNode{{at: x.l.at, level: anyLevel}}
	var last []uint64
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := d.claim(n.at); err != nil {
			return err
		}
		first := len(todo)
		var err error
		if todo, last, err = x.oldNode(n, todo, last); err != nil {
			return err
		}
		slices.Reverse(todo[first:])
	}
	return nil
}

// oldNode reads a node: it queues those below, or adds chunks, of which it returns the last.
func (x *index) oldNode(n chunkNode, todo []chunkNode, last []uint64) ([]chunkNode, []uint64, error) {
	const where = "node of chunks"
	d, rank := x.d, len(x.counts)
	count, level, err := d.treeHead(where, n.at, n.level, 1)
	if err != nil {
		return nil, nil, err
	}
	from, err := x.key(rank)
	if err != nil {
		return nil, nil, err
	}
	for range count {
		if err := d.steps.Step(); err != nil {
			return nil, nil, err
		}
		at, err := d.c.U64()
		if err != nil {
			return nil, nil, err
		}
		end, err := x.key(rank)
		if err != nil {
			return nil, nil, err
		}
		if level > 0 {
			todo, err = limits.Append(d.b, todo, n.below(at, level-1, from.at, end.at))
		} else {
			back := d.c
			err = x.addFound(n, from, end, at, last)
			last, d.c = from.at, back
		}
		if err != nil {
			return nil, nil, d.fail(where, d.c.Off(), err)
		}
		from = end
	}
	return todo, last, nil
}

// below is a node below another one: it is searched only for what both have.
func (n chunkNode) below(at uint64, level byte, from, end []uint64) chunkNode {
	if n.end != nil && slices.Compare(n.end, end) < 0 {
		end = n.end
	}
	if n.from != nil && slices.Compare(n.from, from) > 0 {
		from = n.from
	}
	return chunkNode{at, level, from, end}
}

// addFound adds a chunk if the library finds it.
func (x *index) addFound(n chunkNode, from, end chunkKey, address uint64, last []uint64) error {
	at := from.at
	if last != nil && slices.Compare(at, last) <= 0 || slices.Compare(at, end.at) >= 0 ||
		n.from != nil && slices.Compare(at, n.from) < 0 || n.end != nil && slices.Compare(at, n.end) >= 0 {
		return errOrder.Errorf("the library does not find the chunk at %v, because it is in the wrong place", at)
	}
	return x.addElement(at, address, from.size, from.mask)
}

// A chunkKey is a key of the older trees.
type chunkKey struct {
	size uint64
	mask uint32
	at   []uint64
}

// addElement is add for a chunk whose first element is at a place of the dataset.
func (x *index) addElement(first []uint64, address, size uint64, mask uint32) error {
	rank := len(first) - 1
	at, err := limits.Make[uint64](x.d.b, rank)
	if err != nil {
		return err
	}
	if first[rank] != 0 {
		return errStructure.Errorf("a chunk at %d of an element", first[rank])
	}
	for i, v := range first[:rank] {
		n := uint64(x.s.chunk[i])
		if v%n != 0 {
			return errStructure.Errorf("a chunk at %v, and chunks have %v elements", first, x.s.chunk)
		}
		at[i] = v / n
	}
	return x.add(at, address, size, mask)
}

// key reads a key of the older trees.
func (x *index) key(rank int) (k chunkKey, err error) {
	f := fields{c: &x.d.c}
	k.size, k.mask = f.u(4), f.u32()
	if k.at, err = limits.Make[uint64](x.d.b, rank+1); err != nil {
		return k, err
	}
	for i := range k.at {
		k.at[i] = f.u64()
	}
	return k, f.err
}

// tree reads the newer tree: u64 address, [size, u32 mask], u64 place in the grid for each
// dimension.
func (x *index) tree() error {
	rank := len(x.counts)
	kind, sizeBytes := byte(treeChunks), 0
	var last []uint64
	if len(x.s.filters) > 0 {
		kind = treeFiltered
	}
	length := func(stated int) int {
		if kind == treeChunks {
			return 8 + 8*rank
		}
		sizeBytes = stated - 8 - 4 - 8*rank
		if sizeBytes < 1 || sizeBytes > 8 {
			return -1
		}
		return stated
	}
	return x.d.tree2("chunks", x.l.at, kind, length, func(p []byte) error {
		address, size, mask := le64(p), x.size, uint32(0)
		p = p[8:]
		if kind == treeFiltered {
			size, mask = little(p[:sizeBytes]), le32(p[sizeBytes:])
			p = p[sizeBytes+4:]
		}
		at, err := limits.Make[uint64](x.d.b, rank)
		if err != nil {
			return err
		}
		for i := range at {
			at[i] = le64(p[8*i:])
		}
		if last != nil && slices.Compare(at, last) <= 0 {
			return errOrder.Errorf("the library does not find the chunk at %v, because it is in the wrong place", at)
		}
		last = at
		return x.add(at, address, size, mask)
	})
}
