package family

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// GPT-NeoX's class in transformers has as many key heads as query heads, whatever its configuration
// states.
func TestIgnoredMembersDoNotContradict(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	root, err := parseJSON(b, `{"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 128}`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := configOf(root)
	if err != nil || c.kvHeads() != 4 {
		t.Errorf("%d key heads, %v", c.kvHeads(), err)
	}
}
