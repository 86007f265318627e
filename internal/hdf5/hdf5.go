package hdf5

import (
	"errors"
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
	User                     int64 // how many zeros precede the file
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

// Check reads the structure of a file of size bytes. visit is called for each attribute that
// is one text; its error ends the check.
func Check(b *limits.Budget, r io.ReaderAt, size int64, visit func(Text) error) (*File, error) {
	user, err := userOf(r, size)
	if err != nil {
		return nil, wire.At(Format, "", wire.NoOffset, err)
	}
	part, size := io.NewSectionReader(r, user, size-user), size-user // addresses count from the superblock
	f := &file{b: b, r: part, size: size, c: wire.NewCursor(b, Format, part, size), steps: b.Steps(), seen: map[uint64]bool{}, base: uint64(user), out: File{User: user}}
	visited := false // the error is the caller's, which knows its place
	f.visit = func(t Text) error {
		t.Off += user
		err := visit(t)
		visited = err != nil
		return err
	}
	out, err := f.check()
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Format == Format && e.Off >= 0 && !visited {
		moved := *e
		moved.Off += user
		err = &moved
	}
	return out, err
}

func (f *file) check() (*File, error) {
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
	base  uint64 // how many bytes of the user precede the file
	out   File
	// scratch are bytes whose checksum is computed.
	scratch [sumPart]byte
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
	if f.seen[address] {
		return f.fail("", int64(min(address, uint64(f.size))), errStructure.Errorf("the structure at %#x is part of two others", address))
	}
	return f.note(f.seen, address)
}

func (f *file) note(in map[uint64]bool, address uint64) error {
	const cost = 32 // of an entry of the map
	if err := f.b.Items(1); err != nil {
		return f.fail("", f.c.Off(), err)
	}
	if err := f.b.Alloc(cost); err != nil {
		return f.fail("", f.c.Off(), err)
	}
	in[address] = true
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
