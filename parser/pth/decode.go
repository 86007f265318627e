package pth

import (
	"errors"
	"hash/crc32"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/torchcode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/anamnesis-go/anamnesis/vm"
)

const (
	format = "pth"
	// pickleName is the name in messages of the pickle that describes the checkpoint.
	pickleName = recPickle
)

// A Layout is the way in which torch.save wrote a file.
type Layout uint8

// The layouts.
const (
	Archive Layout = iota // a ZIP archive, since PyTorch 1.6
	Legacy                // five pickles and raw storages
)

func (l Layout) String() string {
	if l == Legacy {
		return "legacy"
	}
	return "zip"
}

// A File is a checkpoint whose tensors have been proven to lie in it. It
// implements tensor.Model and tensor.Verifier.
type File struct {
	tensor.File

	layout  Layout
	order   tensor.Order
	archive *archive // nil for a legacy file
	graph   *vm.Graph
	sparse  []sparseCheck
	memory  []string
	only    bool
}

// Layout returns the layout of the file.
func (f *File) Layout() Layout { return f.layout }

// Order returns the byte order of the storages.
func (f *File) Order() tensor.Order { return f.order }

// Graph returns what the pickle describes.
func (f *File) Graph() *vm.Graph { return f.graph }

// stage is the state of the decoder. Stages follow each other in this order; stArchive is
// for one layout, stPickles and stKeys for the other.
type stage uint8

const (
	stHead    stage = iota // first bytes
	stArchive              // ZIP structure and small records
	stPickles              // magic, protocol, system
	stGraph                // the pickle of the checkpoint
	stIDs                  // one persistent id
	stKeys                 // legacy: keys and lengths of the storages
	stRecords              // no storage without a reference
	stTensors              // views, names
	stDone
)

type decoder struct {
	known       Known
	r           io.ReaderAt
	size        int64
	b           *limits.Budget
	stage       stage
	steps       limits.Steps
	out         *File
	tensorsOnly bool // read only the tensors, whatever else the pickle asks for
	judged      bool // a program of TorchScript, whose code is judged
	code        *torchcode.Code
	endangered  bool // the program has a danger
	st          *stores
	legacy      *legacy
	begin       int64 // offset of the next pickle

	scan *Report // what a scan has found so far; nil in Decode
}

// Decode proves the structure of a checkpoint that torch.save wrote into r,
// which holds size bytes. No storage is read.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	return DecodeKnown(b, r, size, Known{})
}

// Known is what the caller has found out about a file, so that it is not read again. The zero value
// is not valid.
type Known struct {
	// Directory is that of a ZIP archive.
	Directory *zip.Listing
	// Archive says what archive another loader finds in a file that does not begin as one.
	Archive func() (what string, off int64, err error)
}

// DecodeKnown is [Decode] for a file of which something is known.
func DecodeKnown(b *limits.Budget, r io.ReaderAt, size int64, k Known) (*File, error) {
	d := newDecoder(b, r, size, k)
	d.tensorsOnly = b.Policy().Quirk(QuirkTensorsOnly)
	return d.decode()
}

func newDecoder(b *limits.Budget, r io.ReaderAt, size int64, k Known) *decoder {
	return &decoder{known: k, r: r, size: size, b: b, steps: b.Steps(), out: &File{File: tensor.File{Name: format, Source: r}}}
}

func (d *decoder) decode() (*File, error) {
	d.b.Source(d.size)
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stHead:
		return d.head()
	case stArchive:
		return d.openArchive()
	case stPickles:
		return d.openLegacy()
	case stGraph:
		return d.load()
	case stIDs:
		return d.ids()
	case stKeys:
		return d.keys()
	case stRecords:
		return d.records()
	case stTensors:
		return d.tensors()
	default:
		panic("internal error: stage out of range")
	}
}

const zipMagic = "PK\x03\x04"

// head determines the layout.
func (d *decoder) head() error {
	var buf [SniffLen]byte
	head := buf[:min(d.size, SniffLen)]
	if err := wire.ReadFull(d.r, head, 0); err != nil {
		return fail("", 0, err)
	}
	switch kind, name := Sniff(head); kind {
	case KindArchive:
		d.stage = stArchive
	case KindLegacy:
		if polyglot.IsTar(head) {
			return fail("", 0, wire.ErrUnsupported.WithRule("pth.tar-and-legacy").Errorf("a tar archive and a legacy checkpoint: torch.load takes the archive"))
		}
		d.stage = stPickles
	case KindWrapper:
		return fail("", 0, wire.ErrUnsupported.WithRule("pth.other-format").Errorf("%s", name))
	case KindPickle:
		return fail("", 0, wire.ErrUnsupported.WithRule("pth.plain-pickle").Errorf("a plain pickle, not a checkpoint that torch.save wrote: scan it instead"))
	default:
		if couldBegin(head) {
			return fail("", d.size, wire.ErrTruncated.Errorf("%d bytes are not a checkpoint", d.size))
		}
		return fail("", 0, wire.ErrMagic.WithRule("pth.foreign-magic").Errorf("neither a ZIP archive nor the pickles of torch.save"))
	}
	return nil
}

func (d *decoder) openArchive() error {
	z, err := d.proven(zip.Options{Format: format})
	if err != nil {
		return err
	}
	if z.Comment > 0 {
		return fail("comment", d.size-int64(z.Comment), wire.ErrUnsupported.WithRule("pth.comment").Errorf("torch.save writes no comment, and its loader fails at some lengths of one"))
	}
	program := d.tensorsOnly && d.scan == nil
	if !program {
		if program, err = d.isProgram(z); err != nil {
			return err
		}
		d.judged, d.tensorsOnly = program, program
	}
	a, err := openArchive(d.b, z, &d.out.Found, program, d.judged)
	if err != nil {
		return err
	}
	if d.st, err = archiveStores(a); err != nil {
		return fail("", wire.NoOffset, err)
	}
	d.out.archive, d.out.order = a, a.order
	d.stage = stGraph
	if d.scan != nil {
		return d.others(a)
	}
	return nil
}

// proven proves the structure of the archive.
func (d *decoder) proven(opts zip.Options) (*zip.Archive, error) {
	if d.known.Directory == nil {
		return zip.Decode(d.b, d.r, d.size, opts)
	}
	return d.known.Directory.Decode(d.b, d.r, opts)
}

// load runs the pickle of the checkpoint.
func (d *decoder) load() error {
	a := d.out.archive
	if a == nil {
		g, err := d.next(legacyPickles[3])
		if err != nil {
			return err
		}
		d.out.graph, d.begin = g, g.End()
		d.stage = stIDs
		return nil
	}
	m := &a.Members[a.pickle]
	sum := &checksum{r: d.r, next: m.DataOff}
	g, err := d.record(sum, a.main, m)
	if err != nil {
		return err
	}
	if err := sum.check(m); err != nil {
		return a.fail(a.pickle, err)
	}
	d.out.graph = g
	d.stage = stIDs
	return nil
}

// record runs the pickle in a member of the archive.
func (d *decoder) record(r io.ReaderAt, name string, m *zip.Member) (*vm.Graph, error) {
	end := m.DataOff + m.Size
	var g *vm.Graph
	var err error
	if d.tensorsOnly {
		g, err = vm.LoadOpaque(d.b, r, m.DataOff, end)
	} else if d.scan == nil {
		g, err = vm.Load(d.b, r, m.DataOff, end)
	} else {
		g, err = d.scan.add(Pickle{name, m.DataOff, end, false, false, vm.Scan(d.b, r, m.DataOff, end)})
	}
	if err != nil {
		return nil, within(err)
	}
	if rest := end - g.End(); rest > 0 {
		return nil, fail(name, g.End(), wire.ErrTrailing.WithRule("pth.pickle-trailing").Errorf("%d bytes after the pickle", rest))
	}
	return g, d.notes(name, g)
}

// next runs the next pickle of a legacy file.
func (d *decoder) next(name string) (*vm.Graph, error) {
	var g *vm.Graph
	var err error
	if d.tensorsOnly {
		g, err = vm.LoadNextOpaque(d.b, d.r, d.begin, d.size)
	} else if d.scan == nil {
		g, err = vm.LoadNext(d.b, d.r, d.begin, d.size)
	} else {
		g, err = d.scan.add(Pickle{name, d.begin, d.size, false, false, vm.ScanNext(d.b, d.r, d.begin, d.size)})
	}
	if err != nil {
		return nil, err
	}
	return g, d.notes(name, g)
}

// within adapts an error about a record: a longer file would not make the record longer,
// so a pickle without an end is malformed.
func within(err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok && wire.ClassOf(err) == wire.Truncated {
		return &wire.Error{Format: e.Format, Where: e.Where, Off: e.Off, Err: wire.ErrSyntax.WithRule("pth.pickle-beyond").Errorf("the record ends within the pickle")}
	}
	return err
}

// notes adds findings for what is unusual about a pickle.
func (d *decoder) notes(name string, g *vm.Graph) error {
	for _, n := range g.Notes() {
		f := tensor.Finding{Code: n.Code, Severity: tensor.Warning, Where: name, Off: n.Off, Text: n.Text}
		if err := d.out.Found.Add(d.b, format, f); err != nil {
			return err
		}
	}
	return nil
}

// ids resolves every persistent id of the pickle, even if nothing refers to it in the
// end, since a loader reads its storage.
func (d *decoder) ids() error {
	if d.seenForbidden() { // a legacy file has one more pickle to examine
		d.stage = stDone
		if d.legacy != nil {
			_, err := d.next(legacyPickles[4])
			return err
		}
		return nil
	}
	for v := range d.out.graph.Persistents() {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if err := d.st.declare(v); err != nil {
			return err
		}
		if d.legacy != nil && v.PID().At(1).Is(vm.TorchUntyped) {
			d.refusedByTorch(v, "a storage without a type in a legacy file, which torch writes but does not load")
		}
	}
	d.stage = stRecords
	if d.legacy != nil {
		d.stage = stKeys
	}
	return nil
}

func (d *decoder) records() error {
	if a := d.out.archive; a != nil {
		if err := a.unused(d.st); err != nil {
			return err
		}
		if err := a.refuseUnexplained(); err != nil {
			return err
		}
	}
	d.stage = stTensors
	return nil
}

func (d *decoder) tensors() error {
	w := &walker{b: d.b, st: d.st, found: &d.out.Found, tensorsOnly: d.tensorsOnly}
	var err error
	// Nearly always there is one tensor per persistent id.
	if w.infos, err = limits.Grow(d.b, w.infos, len(d.st.ids)); err != nil {
		return fail(pickleName, wire.NoOffset, err)
	}
	if err := w.tensors(d.out.graph.Root()); err != nil {
		return err
	}
	if d.tensorsOnly {
		if err := d.unread(w); err != nil {
			return err
		}
	} else if err := d.st.checkUnused(); err != nil {
		return err
	}
	d.out.only = d.tensorsOnly
	d.out.Infos, d.out.sparse, d.out.memory = w.infos, w.sparse, w.memory
	d.stage = stDone
	if d.out.archive != nil && len(d.out.archive.code) > 0 {
		return d.constants()
	}
	return nil
}

// A checksum computes the CRC of what is read in order.
type checksum struct {
	r    io.ReaderAt
	next int64
	crc  uint32
}

func (c *checksum) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	if off == c.next && n > 0 && n <= len(p) {
		c.crc = crc32.Update(c.crc, crc32.IEEETable, p[:n])
		c.next += int64(n)
	}
	return n, err
}

// check verifies that the whole member was read and has the right CRC.
func (c *checksum) check(m *zip.Member) error {
	if c.next != m.DataOff+m.Size {
		return wire.ErrInternal.Errorf("pickle read out of order")
	}
	if c.crc != m.CRC {
		return wire.ErrChecksum.WithRule("pth.pickle-crc").Errorf("CRC is %08x, the directory states %08x", c.crc, m.CRC)
	}
	return nil
}
