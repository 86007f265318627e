package convert

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Refusal says why nothing is written to a path. Its class is Usage.
type Refusal struct {
	Path string
	Why  string

	options []wire.Option
}

func (r *Refusal) Error() string { return "target " + wire.Quote(r.Path) + ": " + r.Why }

// Unwrap returns the class.
func (r *Refusal) Unwrap() error { return wire.ErrUsage }

// Options lists the options named in the reason.
func (r *Refusal) Options() []wire.Option { return r.options }

func refused(path, format string, args ...any) error {
	return &Refusal{path, fmt.Sprintf(format, args...), wire.OptionsIn(args)}
}
