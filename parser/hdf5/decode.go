package hdf5

import (
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Format is the name of the format in errors.
const Format = "hdf5"

// Magic are the first bytes of a file.
const Magic = "\x89HDF\r\n\x1a\n"

// none is the address of a missing part.
const none = ^uint64(0)

// The rules by which a file is refused.
var (
	errFeature   = wire.ErrUnsupported.WithRule("hdf5.feature")
	errStructure = wire.ErrSyntax.WithRule("hdf5.structure")
	errChecksum  = wire.ErrChecksum.WithRule("hdf5.sum")
	errOrder     = wire.ErrSyntax.WithRule("hdf5.order")
	errName      = wire.ErrText.WithRule("hdf5.name")
	errExternal  = wire.ErrForbidden.WithRule("hdf5.external")
	errSize      = wire.ErrMismatch.WithRule("hdf5.data-size")
)

type stage uint8

const (
	stSuperblock stage = iota // the beginning of the file, which leads to the root group
	stObjects                 // groups and datasets, one a step
	stSpans                   // no two datasets share bytes
	stNames                   // the list of tensors
	stDone
)

// A decoder reads one file.
type decoder struct {
	b     *limits.Budget
	r     io.ReaderAt
	size  int64
	base  int64 // what addresses count from: the bytes before the superblock
	c     wire.Cursor
	steps limits.Steps
	stage stage
	out   *File

	seen    map[uint64]bool  // addresses of structures
	objects map[uint64]int32 // of objects by the address of their header: the dataset, or what else it is
	todo    []link           // what is found and not visited yet, the next one last
	spans   []span
}

// Kinds of objects other than datasets.
const (
	isGroup = -1 - iota
	isType
)

// A span is a range of data.
type span struct {
	off, end int64
	of       int32 // the dataset
}

// Decode reads the structure of a file of size bytes.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	b.Source(size)
	d := &decoder{
		b: b, r: r, size: size, c: wire.NewCursor(b, Format, r, size), steps: b.Steps(),
		seen: map[uint64]bool{}, objects: map[uint64]int32{}, out: new(File),
	}
	d.out.File = tensor.File{Name: Format, Source: r}
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

// step does what is next. It pays a step, and reads an object or advances the stage.
func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stSuperblock:
		d.stage = stObjects
		return d.superblock()
	case stObjects:
		if len(d.todo) == 0 {
			d.stage = stSpans
			return nil
		}
		next := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		return d.object(next)
	case stSpans:
		d.stage = stNames
		return d.apart()
	case stNames:
		d.stage = stDone
		return d.names()
	default:
		panic("internal error: stage out of range")
	}
}

// claim notes the address of a structure that is read: otherwise it would be read as often as
// others lead to it.
func (d *decoder) claim(address uint64) error {
	const cost = 32 // of an entry of the map
	if d.seen[address] {
		return d.fail("", d.place(address), errStructure.Errorf("the structure at %#x is part of two others", address))
	}
	if err := d.b.Items(1); err != nil {
		return d.fail("", d.c.Off(), err)
	}
	if err := d.b.Hold(cost); err != nil {
		return d.fail("", d.c.Off(), err)
	}
	d.seen[address] = true
	return nil
}

func (d *decoder) fail(where string, at int64, cause error) error {
	return wire.At(Format, where, at, cause)
}

// place returns the offset of an address for a message.
func (d *decoder) place(address uint64) int64 {
	return min(d.base+int64(min(address, math.MaxInt64/2)), d.size)
}

// at goes to an address.
func (d *decoder) at(where string, address uint64) error {
	if address >= uint64(d.size-d.base) {
		return d.fail(where, d.c.Off(), wire.ErrTruncated.Errorf("%s is at %#x, and the file has %d bytes", where, address, d.size-d.base))
	}
	return d.c.MoveTo(d.base + int64(address))
}

// signature reads four letters that begin a structure, and its version.
func (d *decoder) signature(where, want string, version byte) error {
	at := d.c.Off()
	p, err := d.c.View(len(want) + 1)
	if err != nil {
		return err
	}
	switch {
	case string(p[:len(want)]) != want:
		return d.fail(where, at, errStructure.Errorf("it begins with % x, not with %q", p[:len(want)], want))
	case p[len(want)] != version:
		return d.fail(where, at, errFeature.Errorf("%q of version %d", want, p[len(want)]))
	}
	return d.c.Skip(uint64(len(want)) + 1)
}

// number reads an integer of up to eight bytes.
func number(c *wire.Cursor, bytes int) (uint64, error) {
	p, err := c.View(bytes)
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	for i, x := range p {
		n |= uint64(x) << (8 * i)
	}
	return n, c.Skip(uint64(bytes))
}

// numbers reads several addresses or lengths.
func numbers(c *wire.Cursor, list ...*uint64) (err error) {
	for _, n := range list {
		if *n, err = c.U64(); err != nil {
			return err
		}
	}
	return nil
}
