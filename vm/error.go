package vm

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Format is the format of this package's errors.
const Format = "pickle"

// A Forbidden error is a global outside the allowlist, a call that is not made, or a
// change of a value that may not be changed.
type Forbidden struct {
	Module, Name string
	Off          int64
	Status       Status
	Reason       string
}

func (e *Forbidden) Error() string { return "forbidden: " + e.text() }

func (e *Forbidden) text() string {
	var s strings.Builder
	s.WriteString(wire.Quote(e.Module + "." + e.Name))
	if e.Status == Dangerous {
		s.WriteString(" is dangerous")
	}
	if e.Reason != "" {
		s.WriteString(": ")
		s.WriteString(e.Reason)
	}
	return s.String()
}

// Class returns wire.Forbidden.
func (e *Forbidden) Class() wire.Class { return wire.Forbidden }

// Unwrap makes errors.Is(err, wire.ErrForbidden) true.
func (e *Forbidden) Unwrap() error { return wire.ErrForbidden }

// A Note is something unusual about a pickle that a person should know. The code is
// stable.
type Note struct {
	Code string // "pickle.nested"
	Off  int64
	Text string
}
