package wire

import (
	"errors"
	"strconv"
	"strings"
)

// MaxMessage bounds the bytes of one error message.
const MaxMessage = 2048

// NoOffset is the offset of an error that belongs to no place in a file.
const NoOffset = -1

// An Error is what every parser returns: the format, the place in its own
// words, the offset in the file (or [NoOffset]) and the cause. For programs,
// Format, Off and the chain of Err are stable: the same file gives the same in
// every version that refuses it for the same reason. Where is stable in form, a
// kind of place and a number or a quoted name; the text of Err is not.
type Error struct {
	Format string // "gguf"
	Where  string // `tensor 12 "blk.0.attn_q"`, names already quoted
	Off    int64  // of the byte that the message is about
	Err    error  // leads to a [Cause] or to a *limits.Error
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString(e.Format)
	s.WriteByte(':')
	if e.Where != "" {
		s.WriteByte(' ')
		s.WriteString(e.Where)
	}
	if e.Off >= 0 {
		s.WriteString(" at 0x")
		s.WriteString(strconv.FormatInt(e.Off, 16))
	}
	if e.Where != "" || e.Off >= 0 {
		s.WriteByte(':')
	}
	s.WriteByte(' ')
	s.WriteString(e.Err.Error())
	return message(s.String())
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// At puts an error in its place, unless it has one already.
func At(format, where string, off int64, err error) error {
	if _, placed := errors.AsType[*Error](err); placed || err == nil {
		return err
	}
	return &Error{format, where, off, err}
}
