package gate

import (
	"errors"
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	// firstLook is how many bytes must have arrived before the file is first examined.
	firstLook = 4 << 10
	// maxHead bounds how much of the beginning is kept and examined. A longer header is
	// judged when the file is whole.
	maxHead = 1 << 20
)

// ErrRefused is returned by [Stream.Write] once the file can no longer be accepted.
// [Stream.Verdict] says why.
var ErrRefused = errors.New("gate: the file is refused by its beginning")

// A Stream examines a file while it arrives, so that hopeless uploads are refused early. It
// buffers the beginning of the file, at most one mebibyte, charged to the account.
//
// It refuses only files that [Gate.Check] would refuse whatever bytes follow, and for the
// same reason. For a file of unknown size that is the reason for a file that is long
// enough. If it does not refuse, the file must still be checked as a whole. A Stream
// belongs to one goroutine. The sizes of the pieces do not matter.
//
//	s := g.Stream(b, r.ContentLength, gate.Hint{Name: name})
//	defer s.Close()
//	_, err := io.Copy(io.MultiWriter(s, file), r.Body)
//	if errors.Is(err, gate.ErrRefused) {
//		return s.Verdict() // the rest need not come
//	}
type Stream struct {
	s     *subject
	above *limits.Budget
	b     *limits.Budget // a child of the caller's, for the beginning
	sized bool

	refusal *Verdict
	kept    *limits.Budget // a child of b, for the pickles of a refusal
	said    report         // of a refusal

	head   []byte
	came   int64
	next   int  // length at which the beginning is examined again
	looked bool // more bytes would tell nothing new
}

// Stream begins a file of size bytes, or of unknown size if size is negative. Close the
// stream when the file is complete.
func (g *Gate) Stream(b *limits.Budget, size int64, h Hint) *Stream {
	if g == nil {
		return nil // which refuses the file
	}
	sized := size >= 0
	if !sized {
		size = unknownSize
	}
	policy := *b.Policy()
	policy.Timeout = limits.NoTimeout // the caller decides how long an upload may take
	return &Stream{
		s: g.subject(nil, size, Hint{Name: h.Name, Promised: h.Promised, Beside: h.Beside, Field: h.Field}), above: b, b: b.Child(policy), sized: sized,
		next: int(min(size, firstLook)), looked: g.knownByDigest(h.Name),
	}
}

// Write takes the next bytes. It returns [ErrRefused] once the file is refused, and then accepts no
// more bytes. Any other error means that the context ended, or that more bytes came than were
// announced.
func (s *Stream) Write(p []byte) (n int, err error) {
	if s == nil || s.s == nil {
		return 0, errNoStream
	}
	if s.Verdict() != nil {
		return 0, ErrRefused
	}
	if int64(len(p)) > s.s.size-s.came {
		return 0, wire.ErrUsage.Errorf("more than the %d bytes that were announced", s.s.size)
	}
	for rest := p; !s.looked && len(rest) > 0; {
		part := rest[:min(len(rest), s.next-len(s.head))]
		rest = rest[len(part):]
		if err := s.keep(part); err != nil {
			return len(p) - len(rest), err
		}
		if s.Verdict() != nil {
			return len(p) - len(rest), ErrRefused
		}
	}
	s.came += int64(len(p))
	return len(p), nil
}

// keep appends to the beginning, and examines it when it is long enough.
func (s *Stream) keep(p []byte) (err error) {
	if s.head == nil || len(p) > cap(s.head)-len(s.head) {
		if s.head, err = limits.Grow(s.b, s.head, s.next-len(s.head)); err != nil {
			s.stop() // there is no room to examine it now
			return nil
		}
	}
	if s.head = append(s.head, p...); len(s.head) < s.next {
		return nil
	}
	return s.look()
}

// look refuses the file if its beginning suffices for that.
func (s *Stream) look() error {
	b := s.b.Child(*s.above.Policy())
	defer func() {
		if p := recover(); p != nil {
			b.Close()
			s.refusal = s.s.gate.Failed(s.s.hint.Name, wire.ErrInternal.Errorf("panic: %s", wire.Clean(fmt.Sprint(p), 512)))
			s.stop()
		}
	}()
	tells := s.s.checkPrefix(b, s.head, s.sized)
	refused := tells.said.err
	if tells.said.account == nil {
		b.Close()
	} else {
		s.kept, s.said = b, tells.said
	}
	if err := contextError(s.above, refused); err != nil {
		return err
	}
	switch whole := int64(len(s.head)) == s.s.size; {
	case refused != nil && !s.isUnrelated(refused):
		s.refuse(tells.said)
	case refused != nil, !tells.more, whole, len(s.head) == maxHead:
		s.stop()
	default:
		s.next = int(min(2*int64(s.next), maxHead, s.s.size))
	}
	return nil
}

// isUnrelated reports whether an error says nothing about the file: the deadline, or
// memory that others hold.
func (s *Stream) isUnrelated(err error) bool {
	limit, ok := errors.AsType[*limits.Error](err)
	return wire.ClassOf(err) == wire.Internal || s.above.Refused(err) || ok && limit.Axis == limits.Time
}

// stop ends the examination and frees the beginning.
func (s *Stream) stop() {
	s.looked, s.head = true, nil
	if s.refusal == nil {
		s.b.Close()
	}
}

// refuse applies the policy to the refusal, as Check does.
func (s *Stream) refuse(said report) {
	v := s.s.draft(said)
	if len(v.Pickles) > 0 {
		v.Format = PickleFormat
	}
	if !s.sized {
		v.Size = int64(len(s.head))
	}
	if v.applyPolicy(); v.Err != nil {
		s.refusal = v.conclude(false)
	}
	s.stop()
}

// Verdict is the refusal, or nil as long as the file may still be accepted. It is valid
// until [Stream.Close].
func (s *Stream) Verdict() *Verdict {
	if s == nil || s.s == nil {
		return noVerdict("", errNoStream)
	}
	return s.refusal
}

// Close gives back what the stream holds. Closing twice is harmless.
func (s *Stream) Close() {
	if s == nil || s.s == nil {
		return
	}
	if s.said.account != nil {
		s.said.account.Close()
	}
	if s.kept != nil {
		s.kept.Close()
	}
	s.b.Close()
}
