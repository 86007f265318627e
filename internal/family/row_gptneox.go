package family

var gptneoxRow = &row{
	arch: "gptneox", model: "gpt_neox", names: []string{"GPTNeoXForCausalLM"}, noFileType: true,
	defaults: []preset{{"vocab_size", "50432"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rotary_pct", "0.25"}, {"use_parallel_residual", "true"}},
	outer: []mapping{
		{hf: "gpt_neox.embed_in", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "gpt_neox.final_layer_norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "embed_out", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "gpt_neox.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attention.query_key_value", shape: dims{QKV, Hidden}, views: bundledView("attn_qkv")},
			{hf: "attention.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys:   gptneoxKeys, vocab: gpt2Vocab,

	attention: attention{kvHeads: func(c *config) int64 { return c.heads() }}, mlx: mlxRow{none: "mlx-lm has other names for its layers"}, back: backward{members: gptneoxBack},
}

func gptneoxKeys(k *keys) {
	k.u32("context_length", "max_position_embeddings")
	k.u32("embedding_length", "hidden_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("feed_forward_length", "intermediate_size")
	part := k.c.get("rotary_pct")
	if params := k.c.rope().params.Get("partial_rotary_factor"); params.There {
		part = params
	}
	f, ok := part.Float()
	if !ok || !(f > 0 && f <= 1) {
		k.fail("rotary_pct", part, "above 0 and at most 1")
		return
	}
	k.putArch("rope.dimension_count", uint32(f*float64(k.c.hidden()/k.c.heads())))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("use_parallel_residual", k.c.bool("use_parallel_residual", true))
	k.f32("attention.layer_norm_epsilon", "layer_norm_eps")
	if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
		k.fail("rope_theta", k.c.rope().theta, "10000, as llama.cpp assumes for GPT-NeoX")
	}
}

func gptneoxBack(s *settings) {
	_, _, head := s.common()
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.partialRotary(head)
	for _, m := range s.list {
		if m.name == "partial_rotary_factor" {
			s.put("rotary_pct", m.value)
		}
	}
	s.parallelResidual()
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
	s.put("attention_bias", "true")
	s.put("hidden_act", `"gelu"`)
}
