package sidecar_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A configuration that states a far larger model than the weights beside it is found, if transformers would
// load these weights.
func TestAConfigurationStatesNoMoreThanTheWeightsHave(t *testing.T) {
	const mb = 1 << 20
	llama := `{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "head_dim": 128, "vocab_size": 128256, "max_position_embeddings": 131072}`
	for _, c := range []struct {
		config  string
		weights sidecar.Weights
		found   bool
	}{
		{llama, sidecar.Weights{Bytes: 1000 * mb, Loaded: true}, false}, // with one bit for a weight
		{llama, sidecar.Weights{Bytes: 4 * mb, Loaded: true}, true},
		{llama, sidecar.Weights{Bytes: 4 * mb}, false}, // which no library loads by their name
		{`{"model_type": "llama", "vocab_size": 99999999}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"model_type": "albert", "hidden_size": 4096, "embedding_size": 128, "vocab_size": 30000, "num_hidden_layers": 1200, "intermediate_size": 16384}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"model_type": "albert", "hidden_size": 4096, "embedding_size": 128, "vocab_size": 30000, "num_hidden_layers": 1200, "num_hidden_groups": 1, "intermediate_size": 16384}`, sidecar.Weights{Bytes: 10 * mb, Loaded: true}, false},
		{`{"model_type": "llama", "hidden_size": 16, "max_position_embeddings": 99999999}`, sidecar.Weights{Bytes: mb, Loaded: true}, false},
		{`{"model_type": "bert", "hidden_size": 16, "max_position_embeddings": 99999999}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"text_config": {"model_type": "llama", "hidden_size": 4096, "vocab_size": 99999999}}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"model_type": "gpt2", "n_embd": 16, "n_positions": 1000000}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"model_type": "vit", "hidden_size": 1024, "image_size": 10000000, "patch_size": 14}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"model_type": "vit", "hidden_size": 1024, "image_size": 1024, "patch_size": 14}`, sidecar.Weights{Bytes: mb, Loaded: true}, false},
		{`{"model_type": "mixtral", "hidden_size": 4096, "num_local_experts": 900000}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
		{`{"model_type": "llama", "hidden_size": 1e9, "intermediate_size": 1e9}`, sidecar.Weights{Bytes: mb, Loaded: true}, true},
	} {
		b := limits.Policy{}.Budget(t.Context())
		text := sidecar.Text{Name: "m/config.json", R: strings.NewReader(c.config), Size: int64(len(c.config)), Weights: func() (sidecar.Weights, bool, error) { return c.weights, true, nil }}
		found, err := sidecar.Check(b, text)
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for _, f := range found {
			has = has || f.Code == sidecar.CodeBeyond
		}
		if has != c.found {
			t.Errorf("%s beside %v: %v", c.config, c.weights, found)
		}
		b.Close()
	}
	for name, want := range map[string][2]bool{"model.safetensors": {true, true}, "a/model-00001-of-00002.safetensors": {true, true}, "adapter_model.safetensors": {true, false}, "model_card.md": {false, false}, "Model.SafeTensors": {true, true}} {
		if is, loaded := sidecar.HasWeights(name); [2]bool{is, loaded} != want {
			t.Errorf("%s: %v %v", name, is, loaded)
		}
	}
}
