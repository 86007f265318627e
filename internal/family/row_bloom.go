package family

// bloomRow: no rotary embeddings but ALiBi.
var bloomRow = &row{
	arch: "bloom", model: "bloom", names: []string{"BloomForCausalLM", "BloomModel"}, tied: true,
	defaults: []preset{{"vocab_size", "250880"}, {"layer_norm_epsilon", "1e-05"}},
	outer: []mapping{
		{hf: "transformer.word_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.word_embeddings_layernorm", gguf: "token_embd_norm", shape: dims{Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}, optional: true},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attention.query_key_value", shape: dims{QKV, Hidden}, views: bundledView("attn_qkv")},
			{hf: "self_attention.dense", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{FFN4, Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, FFN4}},
		}
	}),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm", "token_embd_norm"},
	keys:   bloomKeys, vocab: gpt2Vocab,

	naming: naming{optionalPrefix: "transformer."}, mlx: mlxRow{none: "mlx-lm has no such model"}, back: backward{members: bloomBack},
}

func bloomKeys(k *keys) {
	k.putArch("context_length", uint32(k.c.hidden()))
	k.u32("context_length", "seq_length")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.heads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
}

func bloomBack(s *settings) {
	hidden := s.requireInt("hidden_size", "embedding_length")
	s.requireInt("n_layer", "block_count")
	heads := s.requireInt("n_head", "attention.head_count")
	s.requireInt("seq_length", "context_length")
	s.expect("feed_forward_length", float64(4*hidden))
	s.expect("attention.head_count_kv", float64(heads))
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.vocabulary()
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
}
