package gate

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// aside looks through a text that no loader takes for a model, for what it asks of
// who loads the model beside it.
func (j *judgement) aside() {
	if !strings.HasSuffix(j.Harmless, "text") || j.policy.Sidecars == SidecarsSkip {
		return
	}
	found, err := sidecar.Check(j.account, sidecar.Text{Name: j.hint.Name, R: j.r, Size: j.Size, Beside: j.hint.near})
	if err != nil {
		j.Err = wire.At("sidecar", "", wire.NoOffset, err)
	}
	if j.Findings = found; err != nil || len(found) > 0 {
		j.Harmless = ""
	}
}
