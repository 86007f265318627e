package vm

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Format is what errors of this package call the format.
const Format = "pickle"

// A Forbidden error is a global outside the allowlist, a call that we do not
// make, or a change of something that is not ours to change.
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

// Class makes this the class forbidden.
func (e *Forbidden) Class() wire.Class { return wire.Forbidden }

// Unwrap makes errors.Is(err, wire.ErrForbidden) true.
func (e *Forbidden) Unwrap() error { return wire.ErrForbidden }

// A Note is something a person should know about a pickle. The code is stable.
type Note struct {
	Code string // "pickle.nested"
	Off  int64
	Text string
}
