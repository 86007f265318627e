package hdf5

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Format is the name of the format in errors.
const Format = "hdf5"

// Magic are the first bytes of a file.
const Magic = "\x89HDF\r\n\x1a\n"

// A File is what is known of a file.
type File struct {
	Tensors, Elements, Bytes int64
}

// A Text is an attribute that is one text.
type Text struct {
	Name  string
	Off   int64
	Bytes *io.SectionReader
}

// none is the address of what is not there.
const none = ^uint64(0)

// The rules by which a file is refused.
var (
	errFeature   = wire.ErrUnsupported.WithRule("hdf5.feature")
	errStructure = wire.ErrSyntax.WithRule("hdf5.structure")
	errExternal  = wire.ErrForbidden.WithRule("hdf5.external")
)

// Check reads the structure of a file of size bytes. visit is called for each attribute
// that is one text; its error ends the check.
func Check(b *limits.Budget, r io.ReaderAt, size int64, visit func(Text) error) (*File, error) {
	f := &file{b: b, r: r, size: size, c: wire.NewCursor(b, Format, r, size), steps: b.Steps(), seen: map[uint64]bool{}, visit: visit}
	if err := f.superblock(); err != nil {
		return nil, err
	}
	for len(f.queue) > 0 {
		t := f.queue[len(f.queue)-1]
		f.queue = f.queue[:len(f.queue)-1]
		if err := f.do(t); err != nil {
			return nil, err
		}
	}
	return &f.out, nil
}

// A file is the way through one file.
type file struct {
	b     *limits.Budget
	r     io.ReaderAt
	size  int64
	c     wire.Cursor
	steps limits.Steps
	seen  map[uint64]bool // addresses of what was queued or visited
	queue []task
	visit func(Text) error
	out   File
}

// A task is something that is found and not visited yet.
type task struct {
	at    uint64
	kind  kind
	level uint8 // of a node
	names names // of a node or a leaf
}

type kind uint8

const (
	aHeader kind = iota // of a group or a dataset
	aNode               // of the tree of a group
	aLeaf               // of that tree
)

func (f *file) do(t task) error {
	switch t.kind {
	case aNode:
		return f.node(t)
	case aLeaf:
		return f.leaf(t)
	}
	return f.header(t.at)
}

// object queues an object, which may have several names.
func (f *file) object(address uint64) error {
	if f.seen[address] {
		return nil
	}
	return f.add(task{at: address})
}

// add queues what may be found once only: otherwise it would be visited as often as
// others lead to it.
func (f *file) add(t task) error {
	if err := f.claim(t.at); err != nil {
		return err
	}
	var err error
	f.queue, err = limits.Append(f.b, f.queue, t)
	return err
}

// claim notes the address of a structure that is read.
func (f *file) claim(address uint64) error {
	const cost = 32 // of an entry of the map
	if f.seen[address] {
		return f.fail("", int64(min(address, uint64(f.size))), errStructure.Errorf("the structure at %#x is part of two others", address))
	}
	if err := f.b.Items(1); err != nil {
		return f.fail("", f.c.Off(), err)
	}
	if err := f.b.Alloc(cost); err != nil {
		return f.fail("", f.c.Off(), err)
	}
	f.seen[address] = true
	return nil
}

func (f *file) fail(where string, at int64, cause error) error {
	return wire.At(Format, where, at, cause)
}

// at goes to an address.
func (f *file) at(where string, address uint64) error {
	if address >= uint64(f.size) {
		return f.fail(where, f.c.Off(), wire.ErrTruncated.Errorf("%s is at %#x, and the file has %d bytes", where, address, f.size))
	}
	return f.c.MoveTo(int64(address))
}

// signature reads four letters that begin a structure, and its version.
func (f *file) signature(where, want string, version byte) error {
	at := f.c.Off()
	p, err := f.c.View(len(want) + 1)
	if err != nil {
		return err
	}
	switch {
	case string(p[:len(want)]) != want:
		return f.fail(where, at, errStructure.Errorf("it begins with % x, not with %q", p[:len(want)], want))
	case p[len(want)] != version:
		return f.fail(where, at, errFeature.Errorf("%q of version %d", want, p[len(want)]))
	}
	return f.c.Skip(uint64(len(want)) + 1)
}

// superblock reads the beginning of the file, which leads to the root group:
//
//	magic, version, 2 versions, 0, version, size of addresses and of lengths, 0, u16 and u16 of trees, u32 flags,
//	[u32 in version 1], u64 base, u64 free space, u64 end, u64 driver, then an entry for the root
func (f *file) superblock() error {
	const where = "superblock"
	p, err := f.c.Bytes(24)
	if err != nil {
		return err
	}
	version := p[8]
	switch {
	case string(p[:8]) != Magic:
		return f.fail(where, 0, errStructure.Errorf("it begins with % x", p[:8]))
	case version > 1:
		return f.fail(where, 8, errFeature.Errorf("superblock of version %d: write the file again with h5py's default libver", version))
	case p[9] != 0 || p[10] != 0 || p[12] != 0:
		return f.fail(where, 9, errFeature.Errorf("versions %d, %d and %d of structures", p[9], p[10], p[12]))
	case p[13] != 8 || p[14] != 8:
		return f.fail(where, 13, errFeature.Errorf("addresses of %d bytes and lengths of %d", p[13], p[14]))
	}
	if version == 1 {
		if err := f.c.Skip(4); err != nil {
			return err
		}
	}
	var v [9]uint64 // base, free space, end, driver, then name, header, kind, tree and names of the root
	for i := range v {
		if v[i], err = f.c.U64(); err != nil {
			return err
		}
	}
	switch {
	case v[0] != 0:
		return f.fail(where, 24, errFeature.Errorf("addresses count from %#x", v[0]))
	case v[2] > uint64(f.size):
		return f.fail(where, 40, wire.ErrTruncated.Errorf("the file says that it has %d bytes, and has %d", v[2], f.size))
	case v[1] != none || v[3] != none:
		return f.fail(where, 32, errFeature.Errorf("a list of free space, or a driver other than for one file"))
	}
	if err := f.object(v[5]); err != nil || uint32(v[6]) != aGroup {
		return err
	}
	return f.group(v[7], v[8])
}
