package family

import "slices"

// gemma4AssistantRow: a small Gemma 4 that predicts further tokens of a larger one. It has no keys of its own,
// and reads the hidden states of the other beside the token.
var gemma4AssistantRow = &row{
	arch: "gemma4-assistant", model: "gemma4_assistant", names: []string{"Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM"}, tied: true,
	defaults: gemma4Row.defaults,
	outer: []mapping{
		gemma4Row.outer[0], gemma4Row.outer[1],
		{hf: "pre_projection", gguf: "nextn.pre_projection", shape: dims{Hidden, double(backbone)}},
		{hf: "post_projection", gguf: "nextn.post_projection", shape: dims{backbone, Hidden}},
	},
	layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.DeleteFunc(gemma4Layers(), func(m mapping) bool {
			return slices.Contains([]string{"attn_k", "attn_v", "attn_k_norm"}, m.gguf)
		})
	}),
	keys: func(k *keys) {
		gemma4Keys(k)
		k.putArch("embedding_length_out", uint32(backbone(k.c)))
		k.putArch("nextn_predict_layers", uint32(k.c.layers()))
		k.requireMember("num_kv_shared_layers", itoa(k.c.layers()))
		k.requireMember("hidden_size_per_layer_input", "0")
		if n := backbone(k.c); n == k.c.hidden() || n < 1 {
			k.fail("backbone_hidden_size", k.c.get("backbone_hidden_size"), "the width of the larger model, which llama.cpp asks to be another")
		}
	}, vocab: gemma4Vocab,

	attention: gemma4Row.attention, naming: naming{skipSuffixes: gemmaSkip, skipPrefixes: []string{"masked_embedding."}}, mlx: mlxRow{none: notCompared},
}

// backbone is the width of the larger model.
func backbone(c *config) int64 { return sizeIn(c.root, "backbone_hidden_size") }
