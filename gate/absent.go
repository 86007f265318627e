package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A host may hold a nil value because it ignored an error. A nil gate, stream or
// verdict accepts nothing: its methods return an error, or a zero answer that is a refusal.
var (
	errNoGate   = wire.ErrInternal.Errorf("there is no gate")
	errNoStream = wire.ErrInternal.Errorf("there is no stream of a file")
	errNoFolder = wire.ErrInternal.Errorf("there is no folder")
	errNoReader = wire.ErrInternal.Errorf("there is no reader")
	errNoPolicy = wire.ErrInternal.Errorf("there is no policy")
)

// refusesAll returns the policy in place of one that is not there: its accounts refuse every
// charge.
func refusesAll() *Policy { return &Policy{Limits: limits.Policy{MaxSteps: -1}} }

// noVerdict returns the refusal for a call that cannot reach a verdict.
func noVerdict(name string, err error) *Verdict { return new(Gate).Failed(name, err) }
