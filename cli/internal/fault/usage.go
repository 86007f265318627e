package fault

import "github.com/anamnesis-go/anamnesis/internal/wire"

// A Usage is an error in the arguments: it says which.
type Usage string

func (u Usage) Error() string { return string(u) }
func (u Usage) Unwrap() error { return wire.ErrUsage }
