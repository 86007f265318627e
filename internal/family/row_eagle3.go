package family

import (
	"slices"
)

// eagle3Row: EAGLE-3, one layer of Llama whose attention reads the token and the hidden states beside each other.
var eagle3Row = &row{
	arch: "eagle3", model: "llama", names: []string{"LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3Speculator", "Eagle3DraftModel"}, tied: true,
	defaults: llamaRow.defaults,
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}, optional: true},
		{hf: "norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{draftVocab, Hidden}, optional: true},
		{hf: "fc", gguf: "fc", shape: dims{Hidden, eagleFeatures}},
		{hf: "input_norm", gguf: "enc.output_norm", shape: dims{eagleFeatures}, inLayer: func(c *config, _ int64) bool { return c.root.Get("norm_before_fc").True() }},
	},
	layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted([]mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "hidden_norm", gguf: "attn_norm_2", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden2}},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden2}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden2}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			ffnNorm, mlp[0], mlp[1], mlp[2],
		})
	}),
	keys: func(k *keys) {
		llamaKeys(k)
		target := k.targetConfig()
		layers := k.c.root.Get("eagle_aux_hidden_state_layer_ids")
		list := []int32{2, int32(target.int("num_hidden_layers") / 2), int32(target.int("num_hidden_layers") - 3)}
		if layers.There {
			list = k.numbersOf("eagle_aux_hidden_state_layer_ids", layers, 0)
		}
		if len(list) != 3 || slices.Min(list) < 0 {
			k.fail("eagle_aux_hidden_state_layer_ids", layers, "three layers of the target")
		}
		k.putArch("target_layers", list)
		k.putArch("target_hidden_size", uint32(eagleWidth(k.c, target)))
		if n := k.c.int("num_hidden_layers"); n != 1 || !k.c.get("draft_vocab_size").There {
			k.fail("num_hidden_layers", k.c.get("num_hidden_layers"), "1, beside draft_vocab_size, by which llama.cpp's converter knows EAGLE-3")
		}
		for _, m := range []string{"norm_before_residual", "norm_before_fc"} {
			k.putArch(m, k.c.root.Get(m).True())
		}
	}, vocab: targetVocab(func(*row) func(*keys) error { return llamaVocab }),

	naming: naming{renames: [][2]string{{"midlayer.", "model.layers.0."}, {"layers.0.", "model.layers.0."}, {"embed_tokens.", "model.embed_tokens."}, {"model.norm.", "norm."}}, skipPrefixes: []string{"t2d"}, drafted: "d2t", ofTarget: true},
	mlx:    mlxRow{none: notCompared},
}

// eagleFeatures is the width of three hidden states of the target.
func eagleFeatures(c *config) int64 { return 3 * eagleWidth(c, c.target()) }

// eagleWidth is the width of the target.
func eagleWidth(c, target *config) int64 {
	if n := sizeIn(c.root, "target_hidden_size"); n > 0 {
		return n
	}
	return target.int("hidden_size")
}
