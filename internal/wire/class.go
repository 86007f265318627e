package wire

import (
	"errors"
	"fmt"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Class says what kind of end an operation came to. It decides the exit code
// and the HTTP status.
type Class uint8

// The classes, in the order of their exit codes.
const (
	OK          Class = iota
	Internal          // I/O, or a bug: never counts as accepted
	Usage             // wrong flags or a target that cannot be
	Malformed         // no file with this beginning could be valid
	Truncated         // some longer file with this beginning could be valid
	Unsupported       // legal, but not read here
	Limit             // a ceiling of the policy was reached
	Forbidden         // refused by rule: code, or what the policy refuses
	Differs           // two models are not equal
)

var classNames = [...]string{"ok", "internal", "usage", "malformed", "truncated", "unsupported", "limit", "forbidden", "differs"}

var httpStatus = [...]int{200, 500, 400, 422, 422, 415, 413, 403, 200}

func (c Class) String() string { return classNames[c] }

// ExitCode is the process's exit code for this class.
func (c Class) ExitCode() int { return int(c) }

// HTTPStatus is the status that an upload handler answers with.
func (c Class) HTTPStatus() int { return httpStatus[c] }

// ClassOf finds the class of an error: the outermost cause that has one. An
// error that no parser made is Internal.
func ClassOf(err error) Class {
	if err == nil {
		return OK
	}
	if errors.Is(err, limits.ErrLimit) {
		return Limit
	}
	if errors.Is(err, limits.ErrPolicy) {
		return Usage
	}
	if classed, ok := errors.AsType[interface {
		error
		Class() Class
	}](err); ok {
		return classed.Class()
	}
	return Internal
}

// A Cause is a sentinel with a class: what errors.Is asks for.
type Cause struct {
	class Class
	text  string
}

// The causes that parsers share.
var (
	ErrMagic       = &Cause{Malformed, "not this format"}
	ErrSyntax      = &Cause{Malformed, "does not follow the format's grammar"}
	ErrRange       = &Cause{Malformed, "number out of range"}
	ErrOverflow    = &Cause{Malformed, "arithmetic overflows"}
	ErrOverlap     = &Cause{Malformed, "spans overlap"}
	ErrGap         = &Cause{Malformed, "bytes that belong to nothing"}
	ErrAlign       = &Cause{Malformed, "not aligned"}
	ErrDuplicate   = &Cause{Malformed, "duplicate"}
	ErrMismatch    = &Cause{Malformed, "two statements of the file contradict each other"}
	ErrTrailing    = &Cause{Malformed, "bytes after the end"}
	ErrText        = &Cause{Malformed, "text is not valid"}
	ErrChecksum    = &Cause{Malformed, "checksum differs"}
	ErrMissing     = &Cause{Malformed, "a part is missing"}
	ErrTruncated   = &Cause{Truncated, "file ends too early"}
	ErrUnsupported = &Cause{Unsupported, "not supported"}
	ErrForbidden   = &Cause{Forbidden, "forbidden"}
	ErrUsage       = &Cause{Usage, "cannot be asked for"}
	ErrInternal    = &Cause{Internal, "internal error"}
)

func (c *Cause) Error() string { return c.text }

// Class returns the class that the cause belongs to.
func (c *Cause) Class() Class { return c.class }

// With returns an error that is c and says more. Text from a file must be
// quoted by the caller. An [Option] among the arguments is kept.
func (c *Cause) With(format string, args ...any) error {
	return &detail{c, fmt.Sprintf(format, args...), OptionsIn(args)}
}

type detail struct {
	cause   *Cause
	text    string
	options []Option
}

func (d *detail) Error() string { return d.cause.text + ": " + d.text }
func (d *detail) Unwrap() error { return d.cause }

// Options lists the options that the message names.
func (d *detail) Options() []Option { return d.options }
