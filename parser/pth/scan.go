package pth

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A Pickle is one pickle of a file, and what it asks its loader for.
type Pickle struct {
	Name   string // "data.pkl", "pickle 4 (checkpoint)"
	Off    int64
	Limit  int64 // where it must end: the end of its record, or of the file
	Plain  bool  // the file is a pickle and not a checkpoint
	Beside bool  // a member of a checkpoint that torch.load does not read
	Report *vm.Report
}

// Lines lists the instructions of the pickle.
func (p *Pickle) Lines(b *limits.Budget, r io.ReaderAt) iter.Seq2[vm.Line, error] {
	if p.Plain {
		return vm.DisassemblePlain(b, r, p.Off, p.Limit)
	}
	return vm.Disassemble(b, r, p.Off, p.Limit)
}

// A Report is the result of [Scan].
type Report struct {
	// Pickles in the order in which loaders run them.
	Pickles []Pickle
	// File is the checkpoint, nil if it is refused.
	File *File
	// Err is why it is refused: for what is forbidden, if anything is, else for what is
	// wrong with the file.
	Err error

	b         *limits.Budget
	refusal   func(*vm.Report) error // nil allows nothing
	forbidden error
}

// Scan reads all pickles of a checkpoint, or the one of a plain pickle, to
// their ends and reports what they ask for, allowed or not. Bodies are not read.
// A checkpoint that Decode accepts has a report without Err and the same File.
func Scan(b *limits.Budget, r io.ReaderAt, size int64) *Report {
	return ScanAllowing(b, r, size, nil)
}

// ScanAllowing is Scan for a caller who allows more than data: refusal says why a pickle is refused
// whose [vm.Report.Refusal] is not nil, or nil if it is not. The result of a call there is an
// object of which only the name, the arguments and the state are known.
func ScanAllowing(b *limits.Budget, r io.ReaderAt, size int64, refusal func(*vm.Report) error) *Report {
	return ScanKnown(b, r, size, Known{}, refusal)
}

// ScanKnown is [ScanAllowing] for a file of which something is known.
func ScanKnown(b *limits.Budget, r io.ReaderAt, size int64, k Known, refusal func(*vm.Report) error) *Report {
	d := newDecoder(b, r, size, k)
	d.scan = &Report{b: b, refusal: refusal}
	out := d.scan
	var err error
	if kind := d.kind(); kind == KindPickle || kind == KindNone {
		err = d.plain()
	} else {
		out.File, err = d.decode()
	}
	if out.Err = err; out.forbidden != nil && wire.ClassOf(err) != wire.Internal {
		out.Err = out.forbidden
	}
	if out.Err != nil {
		out.File = nil
	}
	return out
}

// kind returns what the first bytes say. If they cannot be read, Decode reports it.
func (d *decoder) kind() Kind {
	var buf [SniffLen]byte
	head := buf[:min(d.size, SniffLen)]
	if len(head) == 0 || wire.ReadFull(d.r, head, 0) != nil {
		return KindArchive
	}
	kind, _ := Sniff(head)
	return kind
}

// maxPickles bounds the pickles in one file, each of which costs some buffers.
const maxPickles = 1024

// plain scans a file that is one pickle or several in a row.
func (d *decoder) plain() error {
	if err := d.compressed(); err != nil {
		return err
	}
	for n := 1; d.begin < d.size || n == 1; n++ {
		name := "pickle"
		if n > 1 {
			name += " " + strconv.Itoa(n)
		}
		if n > maxPickles {
			return fail(name, d.begin, wire.ErrUnsupported.WithRule("pickle.many").Errorf("more than %d pickles in one file", maxPickles))
		}
		g, err := d.scan.add(Pickle{name, d.begin, d.size, true, false, vm.ScanPlain(d.b, d.r, d.begin, d.size)})
		if err != nil {
			return err
		}
		d.begin = g.End()
	}
	return d.alias()
}

// compressed refuses a pickle compressed by joblib, by the header of zlib. No pickle
// begins like that.
func (d *decoder) compressed() error {
	var head [2]byte
	if d.size < 2 {
		return nil
	}
	if err := wire.ReadFull(d.r, head[:], 0); err != nil {
		return fail("", 0, err)
	}
	if head[0] == 'x' && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return fail("", 0, wire.ErrUnsupported.WithRule("pickle.zlib").Errorf("zlib stream: a pickle that joblib compressed is not inspected"))
	}
	return nil
}

// alias refuses a pickle that another loader opens as an archive.
func (d *decoder) alias() error {
	look := d.known.Archive
	if look == nil {
		look = func() (string, int64, error) { return polyglot.AliasOf(d.r, d.size) }
	}
	what, off, err := look()
	if err != nil {
		return fail("", off, err)
	}
	if what != "" {
		return fail("", off, wire.ErrUnsupported.WithRule("pickle.two-formats").Errorf("it begins as a pickle and is also %s: loaders see different content", what))
	}
	return nil
}

// seenForbidden reports whether a pickle of this scan has asked for something forbidden.
// Then its values may be of any kind.
func (d *decoder) seenForbidden() bool { return d.scan != nil && d.scan.forbidden != nil }

// add adds the report of one pickle. Forbidden requests do not end the scan, so that the
// following pickles are examined too.
func (r *Report) add(pickle Pickle) (*vm.Graph, error) {
	list, err := limits.Append(r.b, r.Pickles, pickle)
	if err != nil {
		return nil, fail(pickle.Name, pickle.Off, err)
	}
	r.Pickles = list
	p := pickle.Report
	err = p.Refusal()
	if err != nil && r.refusal != nil {
		if own := r.refusal(p); own != nil || ofUnknown(p) {
			err = own
		}
	}
	if r.forbidden == nil && (wire.ClassOf(err) == wire.Forbidden || err != nil && p.Err == nil) {
		r.forbidden = err
	}
	if p.Err != nil {
		return nil, p.Err
	}
	return p.Graph, nil
}

// ofUnknown reports whether a pickle is refused only for globals that are not known, as they
// are named, called and given a state: the walk takes the values of all others by their kind.
func ofUnknown(p *vm.Report) bool {
	for e := range p.Events() {
		if e.OK {
			continue
		}
		g := e.On.Global()
		if g == nil || g.Status == vm.Allowed || e.Use == vm.UseCall && e.On.Kind() != vm.KindGlobal {
			return false
		}
	}
	return true
}

// others scans the pickles in an archive besides its checkpoint, whatever their names.
func (d *decoder) others(a *archive) error {
	for _, i := range a.unexplained {
		m := &a.Members[i]
		r, _ := a.At(int(i))
		is, err := polyglot.Pickle(d.b, r, m.Size)
		if err != nil {
			return a.fail(int(i), err)
		}
		if !is && !strings.HasSuffix(polyglot.Fold(m.Name), ".pkl") {
			continue
		}
		// Errors do not matter: any bytes may be there, and only the requests count.
		end := m.DataOff + m.Size
		_, err = d.scan.add(Pickle{m.Name[len(a.prefix):], m.DataOff, end, false, true, vm.Scan(d.b, d.r, m.DataOff, end)})
		if c := wire.ClassOf(err); c == wire.Limit || c == wire.Internal {
			return err
		}
	}
	return nil
}
