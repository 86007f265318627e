package family

import (
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// transformers drops the layers that num_nextn_predict_layers counts and keeps the member, and
// llama.cpp loads the rest: a row that counts them takes a model without them.
func TestMultiTokenPredictionLayersAreOptionalIfTheirNumberIsAKey(t *testing.T) {
	counted := 0
	for _, row := range rows {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		layers := func(ahead int) int64 {
			root, err := parseJSON(b, fmt.Sprintf(`{"architectures": [%q], "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "num_layers": 2, "num_nextn_predict_layers": %d}`, row.names[0], ahead))
			if err != nil {
				t.Fatal(err)
			}
			c, err := configOf(root)
			if err != nil {
				return 0
			}
			return c.layers()
		}
		if layers(1) == layers(0) {
			continue
		}
		if counted++; !row.ahead.optional {
			t.Errorf("%s counts them, and requires their tensors", row.names[0])
		}
	}
	if counted < 2 {
		t.Errorf("only %d rows count them", counted)
	}
}
