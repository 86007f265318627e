package zip

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Options make a decoder stricter or more lenient for a format. The zero value suits any
// archive.
type Options struct {
	// Format is the format of errors: "npz", "pth"; default "zip".
	Format string
	// StoredOnly refuses deflated members.
	StoredOnly bool
	// ExactCase allows names that differ only in the case of ASCII letters. It is not
	// safe for formats whose loaders ignore case.
	ExactCase bool
	// Behind allows bytes before the first member: another format, which its own parser proves.
	Behind bool
}

// An Archive is a file whose structure has been proven. It is safe for
// concurrent use.
type Archive struct {
	// Members in the order of the directory. Do not change them.
	Members []Member
	// Comment is the length of the archive's comment.
	Comment int
	// Twin is the index of a member whose name differs only in case from an earlier
	// one's, which [Options.ExactCase] allows, or -1.
	Twin int

	format string
	r      io.ReaderAt
}

// A Member is one entry of an archive.
type Member struct {
	Name      string
	HeaderOff int64 // of the local header
	DataOff   int64 // of the first byte of data
	Comp      int64 // bytes of data in the file
	Size      int64 // bytes of data once inflated
	CRC       uint32
	Method    Method
	Flags     uint16
}

// Method is how a member is compressed.
type Method uint16

// The methods that are read.
const (
	Store   Method = 0
	Deflate Method = 8
)

// stage is the current stage of the decoder. Stages follow each other in this order.
type stage uint8

const (
	stMagic   stage = iota // first bytes
	stEnd                  // end record
	stEnd64                // ZIP64 locator and end record
	stCentral              // one directory entry
	stUnique               // file order and duplicate names
	stLocal                // one local header, with the descriptor before it
	stDone
)

type decoder struct {
	c     wire.Cursor
	b     *limits.Budget
	r     io.ReaderAt
	size  int64
	stage stage
	opts  Options
	steps limits.Steps
	end   end
	dir   wire.Cursor // the unread part of the directory
	order []uint32    // members by offset, nil if that is the order of the directory
	at    int         // the next entry or member
	tail  tail        // what must follow the data of the previous member
	buf   []byte
	names limits.Texts
	out   *Archive

	foot    [footLen]byte // the end of the file, and its offset
	footOff int64
}

// Decode proves the structure of the archive in r, which holds size bytes.
// No member's data is read.
func Decode(b *limits.Budget, r io.ReaderAt, size int64, opts Options) (*Archive, error) {
	d := newDecoder(b, r, size, opts)
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(d.opts.Format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

func newDecoder(b *limits.Budget, r io.ReaderAt, size int64, opts Options) decoder {
	opts.Format = cmp.Or(opts.Format, "zip")
	return decoder{
		c: wire.NewCursor(b, opts.Format, r, size), b: b, r: r, size: size, opts: opts,
		steps: b.Steps(), footOff: size, out: &Archive{Twin: -1, format: opts.Format, r: r},
	}
}

// entrySteps are what an entry of the directory takes besides the step of its stage.
const entrySteps = 4

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stMagic:
		return d.magic()
	case stEnd:
		return d.readEnd()
	case stEnd64:
		return d.readEnd64()
	case stCentral:
		if err := d.b.Step(entrySteps); err != nil {
			return err
		}
		return d.central()
	case stUnique:
		return d.unique()
	case stLocal:
		return d.local()
	default:
		panic("internal error: stage out of range")
	}
}

const (
	sigLocal      = "PK\x03\x04"
	sigCentral    = "PK\x01\x02"
	sigEnd        = "PK\x05\x06"
	sigEnd64      = "PK\x06\x06"
	sigLocator    = "PK\x06\x07"
	sigDescriptor = "PK\x07\x08"
	sigLen        = 4
)

func (d *decoder) magic() error {
	p, err := d.read(0, min(d.size, sigLen))
	if err != nil {
		return err
	}
	s := string(p)
	switch {
	case s == sigLocal || s == sigEnd || d.opts.Behind:
		d.stage = stEnd
		return nil
	case s == sigLocal[:len(s)] || s == sigEnd[:len(s)]:
		return d.c.Fail("", wire.ErrTruncated.Errorf("%d bytes are not an archive", d.size))
	default:
		return d.c.Fail("", wire.ErrMagic.WithRule("zip.foreign-magic").Errorf("a ZIP archive begins with PK 3 4"))
	}
}

// unique orders the members by offset and finds duplicate names.
func (d *decoder) unique() error {
	m := d.out.Members
	if err := d.duplicates(m); err != nil {
		return err
	}
	if !slices.IsSortedFunc(m, func(a, b Member) int { return cmp.Compare(a.HeaderOff, b.HeaderOff) }) {
		order, err := limits.Make[uint32](d.b, len(m))
		if err != nil {
			return err
		}
		for i := range order {
			order[i] = uint32(i)
		}
		if err := limits.SortUnstable(d.b, order, func(a, b uint32) int { return cmp.Or(cmp.Compare(m[a].HeaderOff, m[b].HeaderOff), cmp.Compare(a, b)) }); err != nil {
			return err
		}
		d.order = order
	}
	d.at = 0
	d.stage = stLocal
	return nil
}

// inOrder returns the index of the k-th member by offset.
func (d *decoder) inOrder(k int) int {
	if d.order == nil {
		return k
	}
	return int(d.order[k])
}

// where returns the place of member i for errors.
func (d *decoder) where(i int) string { return Where(i, d.out.Members[i].Name) }

// Where returns the place of a member for errors and findings.
func Where(i int, name string) string {
	return "member " + strconv.Itoa(i) + " " + wire.Quote(name)
}
