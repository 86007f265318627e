package forms_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// glmConfig is a GLM 4.5 of two layers, the second a mixture, and one that predicts further
// tokens.
const glmConfig = `{"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "vocab_size": 6, "hidden_size": 8, "intermediate_size": 6, "moe_intermediate_size": 4,
 "num_hidden_layers": 2, "num_nextn_predict_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "n_routed_experts": 2, "num_experts_per_tok": 1,
 "n_shared_experts": 1, "first_k_dense_replace": 1, "attention_bias": false}`

// glmOf is that model, with the tensors of its last layer that keep wants.
func glmOf(t *testing.T, b *limits.Budget, keep func(string) bool) tensor.Model {
	t.Helper()
	var list []fixtures.Tensor
	add := func(name string, shape ...int64) {
		list = append(list, fixtures.Whole(name, "F32", len(list), shape...))
	}
	add("model.embed_tokens.weight", 6, 8)
	add("lm_head.weight", 6, 8)
	add("model.norm.weight", 8)
	mlp := func(p string, wide int64) {
		add(p+"gate_proj.weight", wide, 8)
		add(p+"up_proj.weight", wide, 8)
		add(p+"down_proj.weight", 8, wide)
	}
	for l := range 3 {
		p := fmt.Sprintf("model.layers.%d.", l)
		add(p+"input_layernorm.weight", 8)
		add(p+"post_attention_layernorm.weight", 8)
		add(p+"self_attn.q_proj.weight", 8, 8)
		add(p+"self_attn.k_proj.weight", 4, 8)
		add(p+"self_attn.v_proj.weight", 4, 8)
		add(p+"self_attn.o_proj.weight", 8, 8)
		if l == 0 {
			mlp(p+"mlp.", 6)
			continue
		}
		add(p+"mlp.gate.weight", 2, 8)
		add(p+"mlp.gate.e_score_correction_bias", 2)
		for e := range 2 {
			mlp(fmt.Sprintf("%smlp.experts.%d.", p, e), 4)
		}
		mlp(p+"mlp.shared_experts.", 4)
	}
	add("model.layers.2.eh_proj.weight", 8, 16)
	for _, name := range []string{"enorm", "hnorm", "shared_head.norm"} {
		add("model.layers.2."+name+".weight", 8)
	}
	list = slices.DeleteFunc(list, func(w fixtures.Tensor) bool {
		return strings.HasPrefix(w.Name, "model.layers.2.") && !keep(w.Name)
	})
	added := ""
	for i, text := range []string{"[gMASK]", "<|user|>", "<|endoftext|>", "<|observation|>"} {
		added += fmt.Sprintf(`,{"id": %d, "content": %q, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}`, i+2, text)
	}
	files := fstest.MapFS{
		"model.safetensors": {Data: fixtures.Safetensors(list...)}, "config.json": {Data: []byte(glmConfig)},
		"tokenizer.json": {Data: []byte(`{"added_tokens": [` + added[1:] + `], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}, "decoder": {"type": "ByteLevel"}}`)},
	}
	m, err := parser.OpenFS(b, files, "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// transformers saves GLM 4.5 without its multi-token prediction layer. The file has the keys of the
// model with that layer, as by the converter, and no tensor of it.
func TestAMultiTokenPredictionLayerMayBeMissing(t *testing.T) {
	for _, c := range []struct {
		name    string
		keep    func(string) bool
		tensors int // of the last layer
		says    string
	}{
		{"not there", func(string) bool { return false }, 0, ""},
		{"there", func(string) bool { return true }, 18, ""},
		{"there in part", func(name string) bool { return !strings.Contains(name, "eh_proj") }, 0, "eh_proj"},
		{"a router alone", func(name string) bool { return strings.Contains(name, "mlp.gate.weight") }, 0, "attn_norm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := converttest.Account(t)
			m, err := forms.LlamaCPP{Name: "x", Pre: "glm4"}.Model(b, glmOf(t, b, c.keep))
			if c.says != "" {
				if wire.ClassOf(err) != wire.Malformed || !strings.Contains(fmt.Sprint(err), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			meta, n := maps.Collect(m.Meta()), 0
			for i := range m.Tensors() {
				if strings.HasPrefix(i.Name, "blk.2.") {
					n++
				}
			}
			if blocks, ahead := meta["glm4moe.block_count"], meta["glm4moe.nextn_predict_layers"]; n != c.tensors || blocks != uint32(3) || ahead != uint32(1) {
				t.Errorf("%d tensors of the last layer, %v blocks, %v of them for further tokens", n, blocks, ahead)
			}
		})
	}
}
