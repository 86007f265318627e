package family

var phi2Row = &row{
	arch: "phi2", model: "phi", names: []string{"PhiForCausalLM"},
	defaults: []preset{{"vocab_size", "51200"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"partial_rotary_factor", "0.5"}},
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.final_layernorm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder()[:4],
			mapping{hf: "self_attn.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			mapping{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			mapping{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		)
	}),
	biased: []string{"attn_norm", "attn_output", "ffn_down", "ffn_up", "output", "output_norm"},
	keys:   phi2Keys, vocab: phi2Vocab,

	back: backward{members: phi2Back},
}

func phi2Keys(k *keys) {
	k.u32("context_length", "n_positions", "max_position_embeddings")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.heads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon", "layer_norm_eps")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.hidden(), 0.5)/k.c.heads()))
	switch {
	case k.c.kvHeads() != k.c.heads():
		k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of attention heads, as llama.cpp assumes for Phi 2")
	case k.c.int("intermediate_size") != 4*k.c.hidden():
		k.fail("intermediate_size", k.c.get("intermediate_size"), "4 * hidden_size, as llama.cpp assumes for Phi 2")
	}
}

func phi2Vocab(k *keys) error {
	k.put("tokenizer.ggml.add_bos_token", false)
	return gpt2Vocab(k)
}

func phi2Back(s *settings) {
	_, _, head := s.common()
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.partialRotary(head)
	s.biases("", s.layers(), "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
	s.put("qk_layernorm", "false")
	s.put("hidden_act", `"gelu_new"`)
}
