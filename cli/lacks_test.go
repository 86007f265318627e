package cli_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// llamaParts are the tensors of two layers of Llama, and its configuration without the last brace.
func llamaParts() (config string, parts map[string][2]int) {
	const n = 128
	parts = map[string][2]int{"model.norm": {n}, "model.embed_tokens": {64, n}}
	for _, layer := range []string{"model.layers.0.", "model.layers.1."} {
		parts[layer+"input_layernorm"], parts[layer+"post_attention_layernorm"] = [2]int{n}, [2]int{n}
		for _, name := range []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"} {
			parts[layer+name] = [2]int{n, n}
		}
	}
	return `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 128, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 4,
		"vocab_size": 64, "rms_norm_eps": 1e-6, "torch_dtype": "bfloat16"`, parts
}

// transformers initializes at random what it does not find, so a model that lacks a tensor is never said to load,
// whatever is written of it.
func TestModelsThatLackTensorsAreNotSaidToLoad(t *testing.T) {
	const whole = `, "num_hidden_layers": 2, "tie_word_embeddings": true}`
	config, parts := llamaParts()
	for what, c := range map[string]struct {
		rest, left string
		says       string // of transformers
	}{
		"whole":                      {whole, "", `transformers 5.24.0, tried with model_type "llama"`},
		"whole, by defaults alone":   {`, "num_hidden_layers": 2, "tie_word_embeddings": true, "attention_bias": false, "mlp_bias": false}`, "", `transformers 5.24.0, tried with`},
		"a matrix":                   {whole, "model.layers.1.mlp.up_proj", `not transformers 5.24.0: there is no tensor "model.layers.1.mlp.up_proj.weight", which config.json asks for`},
		"a norm":                     {whole, "model.norm", `not transformers 5.24.0: there is no tensor "model.norm.weight"`},
		"the embedding":              {whole, "model.embed_tokens", `not transformers 5.24.0: there is no tensor "model.embed_tokens.weight"`},
		"fewer layers":               {`, "num_hidden_layers": 3, "tie_word_embeddings": true}`, "", `not transformers 5.24.0: there is no tensor "model.layers.2.`},
		"biases":                     {`, "num_hidden_layers": 2, "tie_word_embeddings": true, "attention_bias": true}`, "", `not transformers 5.24.0: there is no tensor "model.layers.0.self_attn.`},
		"the output layer":           {`, "num_hidden_layers": 2}`, "", `not transformers 5.24.0: there is no tensor "lm_head.weight"`},
		"more layers than tensors":   {`, "num_hidden_layers": 9000000000000000000, "tie_word_embeddings": true}`, "", `unknown of transformers 5.24.0: `},
		"a number that is none":      {`, "num_hidden_layers": "2", "tie_word_embeddings": true}`, "", `transformers 5.24.0`},
		"layers below zero":          {`, "num_hidden_layers": -2, "tie_word_embeddings": true}`, "", `unknown of transformers 5.24.0: `},
		"layers as a list":           {`, "num_hidden_layers": [2], "tie_word_embeddings": true}`, "", `unknown of transformers 5.24.0: `},
		"the number of layers":       {`, "tie_word_embeddings": true}`, "", `not transformers 5.24.0: there is no tensor "model.layers.2.`},
		"a name that is another one": {whole, "model.layers.1.mlp.up_proj model.extra.matrix", `unknown of transformers 5.24.0: there is no "model.layers.1.mlp.up_proj.weight", and "model.extra.matrix.weight" is not one of its names`},
	} {
		t.Run(what, func(t *testing.T) {
			own := maps.Clone(parts)
			for i, name := range strings.Fields(c.left) {
				if i > 0 {
					own[name] = own["model.layers.0.mlp.up_proj"]
				}
				if i == 0 {
					delete(own, name)
				}
			}
			dir := matricesIn(t, config+c.rest, own)
			for _, command := range [][]string{{"convert", "--to", "safetensors"}, {"quantize", "--to", "nf4"}, {"split", "--max-size", "100KB"}} {
				out := filepath.Join(t.TempDir(), "out")
				r := amn(t, nil, append(command, "-o", out, dir)...)
				if r.code != 0 || !strings.Contains(r.out, "Loads:       "+c.says) {
					t.Errorf("%s: exit %d\n%s%s", command[0], r.code, r.out, r.err)
				}
			}
		})
	}
}
