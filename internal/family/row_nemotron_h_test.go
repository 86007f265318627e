package family

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A folder that transformers 5.24 saved counts its layers by the list of their types alone, and is
// planned like one that states the number too.
func TestNemotronHWithoutANumberOfLayers(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	const stated = `{"model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"], "hidden_size": 32, "vocab_size": 64,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 48, "layer_norm_epsilon": 1e-5, "max_position_embeddings": 64,
		"mamba_num_heads": 4, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 16, "conv_kernel": 4, "chunk_size": 16,
		"num_hidden_layers": 3, "layers_block_type": ["mamba", "attention", "mlp"]}`
	var names [2]string
	for i, text := range []string{stated, strings.Replace(stated, `"num_hidden_layers": 3, `, "", 1)} {
		m := modelOf(t, b, text, false)
		if m == nil {
			t.Fatalf("no model of %s", text)
		}
		p, err := New(b, m, Options{TensorsAlone: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, made := range p.Tensors {
			names[i] += made.Name + "\n"
		}
	}
	if names[0] != names[1] || !strings.Contains(names[1], "blk.2.ffn_up.weight") {
		t.Errorf("without a number %s, with it %s", names[1], names[0])
	}
}
