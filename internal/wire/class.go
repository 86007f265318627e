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
	rule  string // of package gate, "" for any
	of    *Cause // what it is a case of
}

// The causes that parsers share.
var (
	ErrMagic       = &Cause{class: Malformed, text: "not this format"}
	ErrSyntax      = &Cause{class: Malformed, text: "does not follow the format's grammar"}
	ErrRange       = &Cause{class: Malformed, text: "number out of range"}
	ErrOverflow    = &Cause{class: Malformed, text: "arithmetic overflows"}
	ErrOverlap     = &Cause{class: Malformed, text: "spans overlap"}
	ErrGap         = &Cause{class: Malformed, text: "bytes that belong to nothing"}
	ErrAlign       = &Cause{class: Malformed, text: "not aligned"}
	ErrDuplicate   = &Cause{class: Malformed, text: "duplicate"}
	ErrMismatch    = &Cause{class: Malformed, text: "two statements of the file contradict each other"}
	ErrTrailing    = &Cause{class: Malformed, text: "bytes after the end"}
	ErrText        = &Cause{class: Malformed, text: "text is not valid"}
	ErrChecksum    = &Cause{class: Malformed, text: "checksum differs"}
	ErrMissing     = &Cause{class: Malformed, text: "a part is missing"}
	ErrTruncated   = &Cause{class: Truncated, text: "file ends too early"}
	ErrUnsupported = &Cause{class: Unsupported, text: "not supported"}
	ErrForbidden   = &Cause{class: Forbidden, text: "forbidden"}
	ErrUsage       = &Cause{class: Usage, text: "cannot be asked for"}
	ErrInternal    = &Cause{class: Internal, text: "internal error"}
)

func (c *Cause) Error() string { return c.text }

// Class returns the class that the cause belongs to.
func (c *Cause) Class() Class { return c.class }

// By is the cause where a reader refuses by a rule: its identifier is what reports
// and policies name, and stays. The table of package gate has a row for each.
func (c *Cause) By(rule string) *Cause { return &Cause{c.class, c.text, rule, c} }

// Unwrap gives the cause that this one is a case of.
func (c *Cause) Unwrap() error {
	if c.of == nil {
		return nil
	}
	return c.of
}

// RuleOf is the rule by which a file was refused, "" if the place that refused it
// has none.
func RuleOf(err error) string {
	for c, ok := errors.AsType[*Cause](err); ok && c != nil; c = c.of {
		if c.rule != "" {
			return c.rule
		}
	}
	return ""
}

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
