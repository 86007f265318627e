package wire

import (
	"errors"
	"fmt"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Class is the kind of outcome of an operation. It decides the exit code and the HTTP
// status.
type Class uint8

// The classes, in the order of their exit codes.
const (
	OK          Class = iota
	Internal          // I/O, or a bug: never counts as accepted
	Usage             // wrong flags, or an impossible target
	Malformed         // no file with this beginning could be valid
	Truncated         // some longer file with this beginning could be valid
	Unsupported       // legal, but not read here
	Limit             // a limit of the policy was reached
	Forbidden         // code, or what the policy refuses
	Differs           // two models are not equal
)

var classNames = [...]string{"ok", "internal", "usage", "malformed", "truncated", "unsupported", "limit", "forbidden", "differs"}

var httpStatus = [...]int{200, 500, 400, 422, 422, 415, 413, 403, 200}

func (c Class) String() string { return classNames[c] }

// ExitCode returns the process's exit code for this class.
func (c Class) ExitCode() int { return int(c) }

// HTTPStatus returns the status that an upload handler answers with.
func (c Class) HTTPStatus() int { return httpStatus[c] }

// ClassOf returns the class of an error: that of the outermost cause that has one. An
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

// A Cause is a sentinel error with a class, for errors.Is.
type Cause struct {
	class  Class
	text   string
	rule   string // of package gate, or ""
	parent *Cause // the cause that WithRule was called on, or nil
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

// WithRule returns a cause that is c and names the rule that a reader refuses by. Reports
// and policies use the identifier, so it never changes. The table of package gate has a
// row for each rule.
func (c *Cause) WithRule(rule string) *Cause { return &Cause{c.class, c.text, rule, c} }

// Unwrap returns the cause that [Cause.WithRule] was called on, or nil.
func (c *Cause) Unwrap() error {
	if c.parent == nil {
		return nil
	}
	return c.parent
}

// RuleOf returns the rule by which a file was refused, or "" if the error names none.
func RuleOf(err error) string {
	for c, ok := errors.AsType[*Cause](err); ok && c != nil; c = c.parent {
		if c.rule != "" {
			return c.rule
		}
	}
	return ""
}

// Errorf returns an error that wraps c and adds details to its text. The caller must quote
// text from a file, see [Quote]. [OptionsOf] finds an [Option] among the arguments.
func (c *Cause) Errorf(format string, args ...any) error {
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
