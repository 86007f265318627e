package gate

import (
	"bytes"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A prefixReader reads a file of which only the beginning has arrived.
type prefixReader struct {
	head   []byte
	missed bool // a read went beyond head
}

var errNotThere = errors.New("not there yet")

// ReadAt reads from the beginning, or returns errNotThere.
func (r *prefixReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(r.head)) || len(p) > len(r.head)-int(off) {
		r.missed = true
		return 0, errNotThere
	}
	return copy(p, r.head[off:]), nil
}

// unknownSize is the size assumed when the sender stated none. It is larger than that of
// any file, so that no limit which grows with the size is reached too soon.
const unknownSize = 1 << 62

// checkPrefix returns the error for which a file that begins with head is refused,
// whatever follows. Without one, more reports whether a longer beginning could tell. The
// verdict closes the account that holds pickles. Only the first bytes decide what the
// file is; [judgement.refusedByHead] asks the same where detection looks at the rest
// first.
func (j *judgement) checkPrefix(b *limits.Budget, head []byte, sized bool) (more bool, err error) {
	format := parser.IdentifyBeginning(head, 0, "").Begins
	if err := j.checkFormat(format); err != nil {
		return false, err
	}
	r := &prefixReader{head: head}
	switch format {
	case "zip": // its directory is at its end
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
		return j.checkOtherPrefix(b, r, sized)
	}
	if r.missed {
		return true, nil
	}
	return false, permanent(err, sized)
}

// decodeHead decodes the header of a format that begins with it and checks it against the
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

// permanent returns err if it holds whatever the size of the file turns out to be, else
// nil.
func permanent(err error, sized bool) error {
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

// checkFormat refuses a format that the policy or the sender excludes. The empty format
// is one that the first bytes do not tell.
func (j *judgement) checkFormat(format string) error {
	switch {
	case format == "":
		return nil
	case format == "zip":
		return j.checkZIPFormat()
	case j.Promised != "" && j.Promised != format:
		return otherThanPromised(j.Promised, format)
	}
	return j.policy.allowsFormat(format)
}

// checkZIPFormat refuses a ZIP archive if no format that is stored in one is allowed.
func (j *judgement) checkZIPFormat() error {
	taken := []string{"pth", "npz", j.packed(&unpack.Kind{Name: "zip"})}
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

// checkOtherPrefix is checkPrefix for wrappers, pickles, ONNX, and files of no known
// format.
func (j *judgement) checkOtherPrefix(b *limits.Budget, r *prefixReader, sized bool) (more bool, err error) {
	if k := unpack.Named(parser.IdentifyBeginning(r.head, 0, "").Packing); k != nil && !promises(j.hint.Name) {
		return j.checkPackedPrefix(b, k, r, sized)
	}
	kind, _ := pth.Sniff(r.head[:min(len(r.head), pth.SniffLen)])
	is := kind == pth.KindPickle || kind == pth.KindLegacy
	if kind == pth.KindNone {
		if is, err = polyglot.Pickle(b, bytes.NewReader(r.head), int64(len(r.head))); err != nil {
			return false, nil
		}
	}
	if is {
		found := pth.Scan(b, bytes.NewReader(r.head), int64(len(r.head)))
		if err := j.forbiddenRequest(found); err != nil {
			j.Pickles, j.account = found.Pickles, b
			return false, err
		}
		if kind != pth.KindNone {
			err = j.policy.noPickles()
		}
		return err == nil, err
	}
	if j.promisesONNX() {
		return j.checkONNXPrefix(b, r, sized)
	}
	again := &judgement{draft: j.gate.draft(j.Name), r: r, hint: j.hint}
	again.Promised, again.Size = j.Promised, j.Size
	ended := again.judge(b)
	if err := permanent(again.Err, sized); err != nil && !r.missed && ended == nil {
		j.Pickles, j.account = again.Pickles, again.account
		return false, err
	}
	again.Close()
	return r.missed && ended == nil, nil
}

// forbiddenRequest returns the first forbidden request of the pickles read so far that
// the policy does not allow.
func (j *judgement) forbiddenRequest(found *pth.Report) error {
	for _, p := range found.Pickles {
		if err := j.policy.refusal(p.Report); wire.ClassOf(err) == wire.Forbidden {
			return err
		}
	}
	return nil
}

// refusedByHead returns the error for which the first bytes alone refuse the file. It
// precedes any error about later bytes, so that a [Stream] and a check of the whole file
// give the same reason.
func (j *judgement) refusedByHead(b *limits.Budget) error {
	var buf [firstLook]byte // as much as [Stream] looks at first
	head := buf[:min(j.Size, firstLook)]
	if j.Size < 0 || wire.ReadFull(j.r, head, 0) != nil {
		return nil
	}
	format := parser.IdentifyBeginning(head, 0, "").Begins
	if err := j.checkFormat(format); err != nil {
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
