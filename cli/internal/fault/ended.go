package fault

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Interrupted is the cause of a context that a signal has ended.
type Interrupted struct{ os.Signal }

func (i Interrupted) Error() string { return "interrupted by " + i.String() }

// ExitCode is what a shell reports of a program that a signal has ended.
func (i Interrupted) ExitCode() int {
	number, _ := i.Signal.(syscall.Signal)
	return 128 + int(number)
}

// OutOfTime is the cause of a context that --total-timeout has ended.
type OutOfTime struct{ D time.Duration }

func (e *OutOfTime) Error() string {
	return fmt.Sprintf("limit time: the files together took more than %s; the rest was not judged", limits.FormatTimeout(e.D))
}

func (e *OutOfTime) Unwrap() error {
	return &limits.Error{Axis: limits.Time, Want: int64(e.D), Left: int64(e.D)}
}

// A SpoolFull means that a pipe gives more bytes than may be spooled.
type SpoolFull struct{ Limit int64 }

func (e *SpoolFull) Error() string {
	return fmt.Sprintf("limit spool: standard input gives more than %d bytes", e.Limit)
}

func (e *SpoolFull) Unwrap() error { return limits.ErrLimit }
