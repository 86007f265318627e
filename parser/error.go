package parser

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An Error is what every parser returns. A program may rely on Format, Off (the offset in
// the file, or -1), the cause, and the word with which Where begins (tensor, key, member,
// shard). All other text is for people and may change.
type Error = wire.Error

// A Class is the kind of outcome of an operation. Its ExitCode and HTTPStatus are stable.
type Class = wire.Class

// The classes, in the order of their exit codes.
const (
	OK          = wire.OK
	Internal    = wire.Internal    // I/O, or a bug: never counts as accepted
	Usage       = wire.Usage       // an impossible request
	Malformed   = wire.Malformed   // no file with this beginning could be valid
	Truncated   = wire.Truncated   // some longer file with this beginning could be valid
	Unsupported = wire.Unsupported // legal, but not read here
	Limit       = wire.Limit       // a ceiling of the policy was reached
	Forbidden   = wire.Forbidden   // refused by rule: code, or what the policy refuses
	Differs     = wire.Differs     // two models are not equal
)

// The causes that an error of a parser may have: errors.Is(err, ErrDuplicate)
// asks for one. They and the classes are stable; texts are not.
var (
	ErrMagic       error = wire.ErrMagic       // not this format
	ErrSyntax      error = wire.ErrSyntax      // does not follow the format's grammar
	ErrRange       error = wire.ErrRange       // a number out of range
	ErrOverflow    error = wire.ErrOverflow    // arithmetic on sizes overflows
	ErrOverlap     error = wire.ErrOverlap     // two spans share bytes
	ErrGap         error = wire.ErrGap         // bytes that belong to nothing
	ErrAlign       error = wire.ErrAlign       // a span that is not aligned
	ErrDuplicate   error = wire.ErrDuplicate   // a name or a key appears twice
	ErrMismatch    error = wire.ErrMismatch    // two statements contradict each other
	ErrTrailing    error = wire.ErrTrailing    // bytes after the end
	ErrText        error = wire.ErrText        // text that is not valid
	ErrChecksum    error = wire.ErrChecksum    // a checksum differs
	ErrMissing     error = wire.ErrMissing     // a part is missing
	ErrTruncated   error = wire.ErrTruncated   // the file ends too early
	ErrUnsupported error = wire.ErrUnsupported // legal, but not read here
	ErrForbidden   error = wire.ErrForbidden   // code, or what the policy refuses
	ErrUsage       error = wire.ErrUsage       // an impossible request
	ErrInternal    error = wire.ErrInternal    // a bug
)

// An Option names the field of the options that decides, such as "quant.Options.Scheme".
type Option = wire.Option

// OptionsOf lists the options that an error names, so that a program can add the names of
// its flags.
func OptionsOf(err error) []Option { return wire.OptionsOf(err) }

// ClassOf returns the class of an error. An error that is not from a parser, such as a
// reader's, is Internal.
func ClassOf(err error) Class { return wire.ClassOf(err) }

// guarded runs one operation, unless there is no account for it or that has ended; f meets
// a deadline itself, and says where. A panic becomes an error of class Internal.
func guarded[T any](b *limits.Budget, op string, f func() (T, error)) (v T, err error) {
	if err := b.Err(); err != nil && !errors.Is(err, limits.ErrLimit) {
		return v, err
	}
	defer func() {
		if p := recover(); p != nil {
			var none T
			v, err = none, wire.At("parser", op, wire.NoOffset,
				wire.ErrInternal.Errorf("panic in %s: %s", panickingFunc(), wire.Clean(fmt.Sprint(p), 512)))
		}
	}()
	return f()
}

// panickingFunc returns the function that panicked: the first on the stack of a deferred
// call that is not the runtime's.
func panickingFunc() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		ours := !strings.HasPrefix(f.Function, "runtime.")
		if panicking && ours {
			return fmt.Sprintf("%s line %d", f.Function[strings.LastIndexByte(f.Function, '/')+1:], f.Line)
		}
		panicking = panicking || !ours
		if !more {
			return "unknown function"
		}
	}
}
