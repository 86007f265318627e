package npz

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

const (
	format = "npz"
	suffix = ".npy"
	magic  = "\x93NUMPY"
	// maxNamed is how many object arrays an error names.
	maxNamed = 8
)

type stage uint8

const (
	stMember stage = iota // the header of one member
	stNames               // names of arrays and of the other members
	stDone
)

type decoder struct {
	b     *limits.Budget
	stage stage
	steps limits.Steps
	at    int // index of the current member
	heads *npy.Reader
	peek  *zip.Peeker
	out   *File

	objects int   // number of arrays that are pickles
	refusal error // refusal of the first of them
	named   strings.Builder
}

// Decode reads the directory, the local headers and the header of each array in
// r, which holds size bytes.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	return DecodeListed(b, r, size, nil)
}

// DecodeListed is [Decode] for an archive whose directory was read.
func DecodeListed(b *limits.Budget, r io.ReaderAt, size int64, directory *zip.Listing) (*File, error) {
	b.Source(size)
	a, err := proven(b, r, size, directory)
	if err != nil {
		return nil, err
	}
	d := decoder{b: b, steps: b.Steps(), peek: a.Peeker(b), out: &File{Archive: a}}
	defer d.peek.Close()
	d.out.File = tensor.File{Name: format, Source: r}
	d.heads = npy.NewReader(b, wire.ErrRange.WithRule("npz.array-beyond"), d.fail)
	if err := d.open(); err != nil {
		return nil, wire.At(format, "", 0, err)
	}
	for d.stage != stDone {
		if err := d.step(); err != nil {
			return nil, wire.At(format, "", wire.NoOffset, err)
		}
	}
	return d.out, nil
}

func proven(b *limits.Budget, r io.ReaderAt, size int64, directory *zip.Listing) (*zip.Archive, error) {
	opts := zip.Options{Format: format, ExactCase: true}
	if directory == nil {
		return zip.Decode(b, r, size, opts)
	}
	return directory.Decode(b, r, opts)
}

// open allocates the lists and adds findings about the archive.
func (d *decoder) open() (err error) {
	f, a := d.out, d.out.Archive
	if f.Infos, err = limits.Make[tensor.Info](d.b, len(a.Members)); err != nil {
		return err
	}
	if f.arrays, err = limits.Make[array](d.b, len(a.Members)); err != nil {
		return err
	}
	f.Infos, f.arrays = f.Infos[:0], f.arrays[:0]
	if a.Comment > 0 {
		if err := f.Found.Add(d.b, format, tensor.Finding{
			Code: "npz.comment", Severity: tensor.Note, Off: wire.NoOffset,
			Text: fmt.Sprintf("the archive ends with a comment of %d bytes", a.Comment),
		}); err != nil {
			return err
		}
	}
	if a.Twin < 0 {
		return nil
	}
	m := &a.Members[a.Twin]
	return f.Found.Add(d.b, format, tensor.Finding{
		Code: "npz.case", Severity: tensor.Warning, Where: zip.Where(a.Twin, m.Name), Off: m.HeaderOff,
		Text: "another name differs in the case of letters alone; loaders that ignore case confuse them",
	})
}

func (d *decoder) step() error {
	if err := d.steps.Step(); err != nil {
		return err
	}
	switch d.stage {
	case stMember:
		return d.next()
	case stNames:
		return d.names()
	default:
		panic("internal error: stage out of range")
	}
}

// next reads the next member; after the last one come the names.
func (d *decoder) next() error {
	if d.at == len(d.out.Archive.Members) {
		d.stage = stNames
		return nil
	}
	if err := d.member(&d.out.Archive.Members[d.at]); err != nil {
		return err
	}
	d.at++
	return nil
}

// member reads the beginning of one member.
func (d *decoder) member(m *zip.Member) error {
	src, err := d.peek.Open(d.at)
	if err != nil {
		return err
	}
	name, isArray := strings.CutSuffix(m.Name, suffix)
	if !isArray {
		return d.otherMember(m, src)
	}
	h, err := d.heads.Read(src, m.Size)
	switch {
	case errors.Is(err, wire.ErrForbidden):
		return d.noteObject(m, err)
	case err != nil:
		return err
	}
	off := h.Len
	if m.Method == zip.Store {
		off += m.DataOff
	}
	i, err := h.Info(d.b, name, off)
	if err == nil {
		err = h.Charge(d.b)
	}
	if err != nil {
		return d.fail(0, err)
	}
	if h.Unusual() {
		if err := h.Report(d.b, &d.out.Found, format, d.where(), m.DataOff); err != nil {
			return err
		}
	}
	f := d.out
	f.Infos = append(f.Infos, i) // the capacity suffices for all members
	f.arrays = append(f.arrays, array{uint32(d.at), uint32(h.Len), h.Type.Fields})
	return nil
}

// maxNote is the largest member that is not an array.
const maxNote = 1 << 20

// otherMember judges a member whose name is not that of an array. Harmless content is listed.
// A member that NumPy takes for an array by its first bytes, or that could be a pickle,
// an archive or a model, refuses the file.
func (d *decoder) otherMember(m *zip.Member, src io.Reader) error {
	if d.b.Policy().RefuseUnknownMembers {
		return d.fail(0, wire.ErrForbidden.WithRule("npz.member-refused").Errorf("member that is not an array is refused by the policy"))
	}
	b := d.b.Probe()
	defer b.Close()
	note, err := limits.Make[byte](b, int(min(m.Size, maxNote)))
	if err != nil {
		return d.fail(0, err)
	}
	if _, err := io.ReadFull(src, note); err != nil {
		return d.fail(0, err)
	}
	if bytes.HasPrefix(note, []byte(magic)) {
		return d.fail(0, wire.ErrMismatch.WithRule("npz.hidden-array").Errorf("an array in a member whose name does not end in %s: NumPy loads it, other readers do not", suffix))
	}
	what := ""
	if m.Size <= maxNote {
		if what, err = polyglot.Harmless(b, bytes.NewReader(note), m.Size); err != nil {
			return d.fail(0, err)
		}
	}
	if what == "" || polyglot.TorchRecord(m.Name) {
		return d.fail(0, wire.ErrUnsupported.WithRule("npz.member-loadable").Errorf("%d bytes that are not an array, but could be loaded: %s", m.Size, polyglot.Name(note)))
	}
	other, err := limits.Append(d.b, d.out.other, any(m.Name))
	if err != nil {
		return d.fail(0, err)
	}
	d.out.other = other
	return d.out.Found.Add(d.b, format, tensor.Finding{
		Code: "npz.member", Severity: tensor.Warning, Where: d.where(), Off: m.DataOff,
		Text: fmt.Sprintf("%d bytes that are not an array: %s", m.Size, what),
	})
}

// noteObject notes an array that is a pickle. The file is refused at the end, so that the
// error names all of them, and so that worse errors come first.
func (d *decoder) noteObject(m *zip.Member, err error) error {
	if d.refusal == nil {
		d.refusal = err
	}
	if d.objects++; d.objects > maxNamed {
		return nil
	}
	if d.objects > 1 {
		d.named.WriteString(", ")
	}
	d.named.WriteString(wire.Quote(m.Name))
	return nil
}

// names indexes the names, and refuses those that NumPy could resolve in two ways: a
// member "a" beside "a.npy". The former may itself be an array, as "b.npy" beside
// "b.npy.npy".
func (d *decoder) names() (err error) {
	f := d.out
	f.index, err = wire.NewNameSet(d.b, len(f.Infos), func(i int) string { return f.Infos[i].Name })
	if err != nil {
		return err
	}
	for i := range f.Infos {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if _, _, err := f.index.Add(i); err != nil {
			return err
		}
	}
	for i := range f.Archive.Members {
		if err := d.steps.Step(); err != nil {
			return err
		}
		name := f.Archive.Members[i].Name
		if k, found := f.index.Find(name); found {
			d.at = int(f.arrays[k].member)
			return d.fail(0, wire.ErrDuplicate.WithRule("npz.array-twice").Errorf("there is also a member %s", wire.Quote(name)))
		}
	}
	d.stage = stDone
	return d.refuse()
}

// refuse returns the refusal of the first object array, naming all of them.
func (d *decoder) refuse() error {
	if d.objects < 2 {
		return d.refusal
	}
	more := ""
	if d.objects > maxNamed {
		more = ", ..."
	}
	first, _ := errors.AsType[*wire.Error](d.refusal)
	return wire.At(format, first.Where, first.Off,
		wire.ErrForbidden.WithRule("npz.object").Errorf("%d object arrays, whose data are pickles and are not read: %s%s", d.objects, d.named.String(), more))
}

func (d *decoder) where() string { return zip.Where(d.at, d.out.Archive.Members[d.at].Name) }

// fail places an error at an offset from the member's first byte. Inside a deflated
// member that is not an offset of the file, so the member's own offset is used.
func (d *decoder) fail(off int64, cause error) error {
	m := &d.out.Archive.Members[d.at]
	if m.Method == zip.Store {
		return wire.At(format, d.where(), m.DataOff+off, cause)
	}
	return wire.At(format, fmt.Sprintf("%s (inflated, %#x)", d.where(), off), m.DataOff, cause)
}
