package convert

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Refusal says why nothing is written to a target. It is of class usage.
type Refusal struct {
	Path string
	Why  string
}

func (r *Refusal) Error() string { return "target " + wire.Quote(r.Path) + ": " + r.Why }

// Unwrap gives the class.
func (r *Refusal) Unwrap() error { return wire.ErrUsage }

func refused(path, format string, args ...any) error {
	return &Refusal{path, fmt.Sprintf(format, args...)}
}
