package gate_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A danger that the host's versions make a note hides no other danger of the same text.
func TestALoweredDangerHidesNoOther(t *testing.T) {
	text := `{"model_type":"llama","_attn_implementation_internal":"evil/kernels","x":{"_target_":"os.system","type":"os.system"}}`
	g := gate.Gate{Policy: gate.Policy{Loaders: map[string]string{"transformers": ">=5.5"}}}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v, err := g.Check(b, strings.NewReader(text), int64(len(text)), gate.Hint{Name: "config.json", Beside: true})
	if err != nil || v.Accepted() {
		t.Errorf("%v, %+v", err, v)
	}
}
