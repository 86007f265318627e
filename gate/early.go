package gate

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
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

// An early is what the beginning of a file tells.
type early struct {
	said report // why it is refused, whatever follows; without an error nothing is known
	more bool   // a longer beginning could tell
}

// checkPrefix judges a file that begins with head. The account of its pickles, if it has
// any, is b. Only the first bytes decide what the file is; [opened.refusedByHead] asks the
// same where its identity looks at the rest first.
func (s *subject) checkPrefix(b *limits.Budget, head []byte, sized bool) (out early) {
	id := parser.IdentifyBeginning(head, s.size, s.hint.Name)
	r := &prefixReader{head: head}
	if out.said.err = s.checkFormat(id); out.said.err != nil {
		return out
	}
	switch id.Begins {
	case "zip": // its directory is at its end
		out.said.err = zip.CheckBeginning(b, head)
		return out
	case "safetensors":
		size := s.size
		if !sized {
			size = -1
		}
		if whole, err := safetensors.CheckPrefix(b, head, size); err != nil || !whole {
			out.said.err, out.more = err, err == nil
			return out
		}
		if !sized {
			return out
		}
		fallthrough
	case "gguf", "npy":
		out.said.err = s.decodeHead(b, id.Begins, r)
	default:
		return s.checkOtherPrefix(b, id, r, sized)
	}
	return r.early(out.said.err, sized)
}

// early returns the verdict of an error about a file that was judged by its beginning.
func (r *prefixReader) early(err error, sized bool) early {
	if r.missed {
		return early{more: true}
	}
	return early{said: report{err: permanent(err, sized)}}
}

// decodeHead decodes the header of a format that begins with it and checks it against the
// policy.
func (s *subject) decodeHead(b *limits.Budget, format string, r io.ReaderAt) (err error) {
	b = b.Probe()
	defer b.Close()
	var m tensor.Model
	switch format {
	case "safetensors":
		m, err = safetensors.Decode(b, r, s.size)
	case "gguf":
		m, err = gguf.Decode(b, r, s.size)
	case "npy":
		m, err = npy.Decode(b, r, s.size)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return s.policy.allowsModel(b, m)
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

// checkFormat refuses a format that the policy or the sender excludes, if the first bytes
// tell one.
func (s *subject) checkFormat(id *parser.Identity) error {
	format, promised := id.Begins, s.hint.Promised
	switch {
	case format == "":
		return nil
	case format == "zip":
		return s.checkZIPFormat(id)
	case promised != "" && promised != format:
		return otherThanPromised(promised, format)
	}
	return s.policy.allowsFormat(format)
}

// checkZIPFormat refuses a ZIP archive if no format that is stored in one is allowed.
func (s *subject) checkZIPFormat(id *parser.Identity) error {
	taken, promised := []string{"pth", "npz", packed(id.Named, unpack.Named("zip"))}, s.hint.Promised
	if id.Promised != "" { // it is not unpacked
		taken = taken[:2]
	}
	for _, format := range taken {
		if (promised == "" || promised == format) && s.policy.allowsFormat(format) == nil {
			return nil
		}
	}
	if promised != "" && s.policy.allowsFormat(promised) == nil {
		return otherThanPromised(promised, "zip")
	}
	return disallow(formatRule, "zip", "", "the policy refuses ZIP archives, and checkpoints and arrays in them")
}

// checkOtherPrefix is checkPrefix for wrappers, pickles, ONNX, and files of no known
// format.
func (s *subject) checkOtherPrefix(b *limits.Budget, id *parser.Identity, r *prefixReader, sized bool) early {
	if id.Packing != "" && id.Promised == "" {
		return s.checkPackedPrefix(b, id, r, sized)
	}
	is := id.Pickled == pth.KindPickle || id.Pickled == pth.KindLegacy
	if id.Pickled == pth.KindNone {
		var err error
		if is, err = polyglot.Pickle(b, bytes.NewReader(r.head), int64(len(r.head))); err != nil {
			return early{}
		}
	}
	if is {
		return s.checkPicklePrefix(b, id, r)
	}
	if id.Named == onnx.Format {
		return s.checkONNXPrefix(b, r, sized)
	}
	again := *s
	again.bytes, again.hint.unchanged = r, nil
	said, ended := again.report(b)
	if said.err = permanent(said.err, sized); said.err != nil && !r.missed && ended == nil {
		return early{said: report{err: said.err, pickles: said.pickles, account: said.account}}
	}
	if said.account != nil {
		said.account.Close()
	}
	return early{more: r.missed && ended == nil}
}

// checkPicklePrefix is checkPrefix for a pickle.
func (s *subject) checkPicklePrefix(b *limits.Budget, id *parser.Identity, r *prefixReader) early {
	found := pth.Scan(b, bytes.NewReader(r.head), int64(len(r.head)))
	if err := s.policy.forbiddenRequest(found); err != nil {
		return early{said: report{err: err, pickles: found.Pickles, account: b}}
	}
	if id.Pickled != pth.KindNone {
		if err := s.policy.noPickles(); err != nil {
			return early{said: report{err: err}}
		}
	}
	return early{more: true}
}

// checkONNXPrefix is checkPrefix for a file that is ONNX by its name.
func (s *subject) checkONNXPrefix(b *limits.Budget, r *prefixReader, sized bool) early {
	if err := s.policy.allowsFormat(onnx.Format); err != nil {
		return early{said: report{err: err}}
	}
	b = b.Probe()
	defer b.Close()
	if is, err := polyglot.Pickle(b, r, s.size); is || err != nil {
		return early{more: r.missed}
	}
	_, err := onnx.Decode(b, r, s.size)
	return r.early(err, sized)
}

// forbiddenRequest returns the first forbidden request of the pickles read so far that
// the policy does not allow.
func (p *Policy) forbiddenRequest(found *pth.Report) error {
	for _, one := range found.Pickles {
		if err := p.refusal(one.Report); wire.ClassOf(err) == wire.Forbidden {
			return err
		}
	}
	return nil
}

// orByHead returns the error for which the first bytes alone refuse a file that is refused
// for err, or err.
func (o *opened) orByHead(b *limits.Budget, err error) error {
	if err == nil {
		return nil
	}
	return cmp.Or(o.refusedByHead(b, err), err)
}

// refusedByHead returns the error for which the first bytes alone refuse a file that is
// refused for err, or nil. It precedes any error about later bytes, so that a [Stream] and
// a check of the whole file give the same reason.
func (o *opened) refusedByHead(b *limits.Budget, err error) error {
	if err := o.s.checkFormat(o.id); err != nil {
		return err
	}
	if o.id.Begins == "zip" {
		return zip.CheckBeginning(b, o.id.Beginning())
	}
	if e, ok := errors.AsType[*parser.Error](err); ok && e.Format == "detect" {
		return o.s.decodeHead(b, o.id.Begins, o.r)
	}
	return nil
}
