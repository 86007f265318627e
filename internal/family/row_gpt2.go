package family

var gpt2Row = &row{
	arch: "gpt2", model: "gpt2", names: []string{"GPT2LMHeadModel"}, tied: true,
	defaults: []preset{{"vocab_size", "50257"}, {"n_positions", "1024"}, {"n_ctx", "1024"}, {"layer_norm_epsilon", "1e-05"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.wpe", gguf: "position_embd", shape: dims{Positions, Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}, optional: true},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "ln_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.c_attn", gguf: "attn_qkv", shape: dims{Hidden, Hidden3}, op: transpose},
			{hf: "attn.c_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}, op: transpose},
			{hf: "ln_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.c_fc", gguf: "ffn_up", shape: dims{Hidden, FFN4}, op: transpose},
			{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{FFN4, Hidden}, op: transpose},
		}
	}),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys:   gpt2Keys, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{".attn.bias", ".attn.masked_bias"}}, mlx: mlxRow{none: "mlx-lm stores its matrices transposed"}, back: backward{fewerTokens: true, members: gpt2Back},
}

func gpt2Keys(k *keys) {
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("context_length", "n_positions", "n_ctx")
	k.u32("embedding_length", "n_embd", "hidden_size")
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
}

func gpt2Back(s *settings) {
	hidden := s.requireInt("n_embd", "embedding_length")
	s.requireInt("n_layer", "block_count")
	heads := s.requireInt("n_head", "attention.head_count")
	s.requireInt("n_positions", "context_length")
	s.expect("feed_forward_length", float64(4*hidden))
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.expect("attention.head_count_kv", float64(heads))
	s.vocabulary()
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
	s.put("activation_function", `"gelu_new"`)
}
