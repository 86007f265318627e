package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// What a host holds may be nil because an error was not looked at. A nil gate, stream or
// verdict accepts nothing: its methods return an error, or a zero answer that is a refusal.
var (
	errNoGate   = wire.ErrInternal.Errorf("there is no gate")
	errNoStream = wire.ErrInternal.Errorf("there is no stream of a file")
	errNoFolder = wire.ErrInternal.Errorf("there is no folder")
	errNoReader = wire.ErrInternal.Errorf("there is nothing to read from")
	errNoPolicy = wire.ErrInternal.Errorf("there is no policy")
)

// refusesAll returns the policy in place of one that is not there: its accounts refuse every
// charge.
func refusesAll() *Policy { return &Policy{Limits: limits.Policy{MaxSteps: -1}} }

// noVerdict returns the refusal in place of a verdict that nobody can come to.
func noVerdict(name string, err error) *Verdict { return new(Gate).Failed(name, err) }
