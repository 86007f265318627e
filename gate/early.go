package gate

import (
	"bytes"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/internal/wrap"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A beginning is a file of which no more is there yet.
type beginning struct {
	head   []byte
	missed bool // more was asked for
}

var errNotThere = errors.New("not there yet")

// ReadAt gives what is there.
func (r *beginning) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(r.head)) || len(p) > len(r.head)-int(off) {
		r.missed = true
		return 0, errNotThere
	}
	return copy(p, r.head[off:]), nil
}

// unknownSize stands for that of a file whose sender did not say: no limit that
// follows the size is reached sooner in a shorter file.
const unknownSize = 1 << 62

// early says why a file is refused by its beginning, whatever follows, and whether
// more of the beginning could tell. An account that pickles are kept under is the
// verdict's to close. What a file is, its first bytes tell alone:
// [judgement.byHead] asks the same where detection looks at the rest first.
func (j *judgement) early(b *limits.Budget, head []byte, sized bool) (more bool, err error) {
	format := parser.Beginning(head)
	if err := j.unwanted(format); err != nil {
		return false, err
	}
	r := &beginning{head: head}
	switch format {
	case "zip": // its directory stands at its end
		return false, zip.CheckBeginning(b, head)
	case "safetensors":
		size := j.Size
		if !sized {
			size = -1
		}
		if whole, err := safetensors.CheckPrefix(b, head, size); err != nil || !whole {
			return err == nil, err
		}
		if !sized {
			return false, nil
		}
		fallthrough
	case "gguf", "npy":
		err = j.decodeHead(b, format, r)
	default:
		return j.earlyOther(b, r, sized)
	}
	if r.missed {
		return true, nil
	}
	return false, sure(err, sized)
}

// decodeHead reads the header of a format that begins with it, and holds it to the
// policy.
func (j *judgement) decodeHead(b *limits.Budget, format string, r io.ReaderAt) (err error) {
	b = b.Probe()
	defer b.Close()
	var m tensor.Model
	switch format {
	case "safetensors":
		m, err = safetensors.Decode(b, r, j.Size)
	case "gguf":
		m, err = gguf.Decode(b, r, j.Size)
	case "npy":
		m, err = npy.Decode(b, r, j.Size)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return j.policy.allowsModel(b, m)
}

// sure is an error that no size of the file takes back.
func sure(err error, sized bool) error {
	if sized {
		return err
	}
	for _, c := range []error{wire.ErrTruncated, wire.ErrTrailing, wire.ErrGap, wire.ErrMismatch} {
		if errors.Is(err, c) {
			return nil
		}
	}
	return err
}

// unwanted refuses a format that the policy or the sender excludes, once the
// first bytes tell it.
func (j *judgement) unwanted(format string) error {
	switch {
	case format == "":
		return nil
	case format == "zip":
		return j.unwantedZip()
	case j.Promised != "" && j.Promised != format:
		return otherThanPromised(j.Promised, format)
	}
	return j.policy.allowsFormat(format)
}

// unwantedZip refuses an archive where none is taken, whatever is in it.
func (j *judgement) unwantedZip() error {
	taken := []string{"pth", "npz", j.packed(&wrap.Kind{Name: "zip"})}
	if promises(j.hint.Name) { // it is not unpacked
		taken = taken[:2]
	}
	for _, format := range taken {
		if (j.Promised == "" || j.Promised == format) && j.policy.allowsFormat(format) == nil {
			return nil
		}
	}
	if j.Promised != "" && j.policy.allowsFormat(j.Promised) == nil {
		return otherThanPromised(j.Promised, "zip")
	}
	return disallow(formatRule, "zip", "", "the policy refuses ZIP archives, and checkpoints and arrays in them")
}

// earlyOther is for what begins as a pickle, or as nothing that is read.
func (j *judgement) earlyOther(b *limits.Budget, r *beginning, sized bool) (more bool, err error) {
	if k := wrap.Sniff(r.head[:min(len(r.head), wrap.HeadLen)]); k != nil && !promises(j.hint.Name) {
		return j.earlyPacked(b, k, r, sized)
	}
	kind, _ := pth.Sniff(r.head[:min(len(r.head), pth.SniffLen)])
	is := kind == pth.KindPickle || kind == pth.KindLegacy
	if kind == pth.KindNone {
		if is, err = unwrap.Pickle(b, bytes.NewReader(r.head), int64(len(r.head))); err != nil {
			return false, nil
		}
	}
	if is {
		found := pth.Scan(b, bytes.NewReader(r.head), int64(len(r.head)))
		if err := j.asked(found); err != nil {
			j.Pickles, j.account = found.Pickles, b
			return false, err
		}
		if kind != pth.KindNone {
			err = j.policy.noPickles()
		}
		return err == nil, err
	}
	if j.promisesONNX() {
		return j.earlyONNX(b, r, sized)
	}
	again := &judgement{Verdict: j.gate.verdict(j.Name), r: r, hint: j.hint}
	again.Promised, again.Size = j.Promised, j.Size
	ended := again.judge(b)
	if err := sure(again.Err, sized); err != nil && !r.missed && ended == nil {
		j.Pickles, j.account = again.Pickles, again.account
		return false, err
	}
	again.Close()
	return r.missed && ended == nil, nil
}

// asked is what the pickles that have come ask for and must not.
func (j *judgement) asked(found *pth.Report) error {
	for _, p := range found.Pickles {
		if err := p.Report.Refusal(); wire.ClassOf(err) == wire.Forbidden && (len(j.policy.AllowGlobals) == 0 || j.policy.minds(p.Report)) {
			return err
		}
	}
	return nil
}

// byHead is what the first bytes of a file that is refused are refused for
// themselves: it goes before what stands behind them, so that a file is refused for
// the same reason while it comes and when it is whole.
func (j *judgement) byHead(b *limits.Budget) error {
	var buf [firstLook]byte // what [Stream] looks at first
	head := buf[:min(j.Size, firstLook)]
	if j.Size < 0 || wire.ReadFull(j.r, head, 0) != nil {
		return nil
	}
	format := parser.Beginning(head)
	if err := j.unwanted(format); err != nil {
		return err
	}
	if format == "zip" {
		return zip.CheckBeginning(b, head)
	}
	if e, ok := errors.AsType[*parser.Error](j.Err); ok && e.Format == "detect" {
		return j.decodeHead(b, format, j.r)
	}
	return nil
}
