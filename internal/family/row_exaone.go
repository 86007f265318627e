package family

var exaone4Row = &row{
	arch: "exaone4", model: "exaone4", names: []string{"Exaone4ForCausalLM"},
	defaults: []preset{{"vocab_size", "102400"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder(mlp...)[1:], with(headNorms, olmo2Row.layers()[7:9]...)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		windowKeys(k, 0)
	}, vocab: gpt2Vocab,

	back: backward{members: exaone4Back},
}

// exaoneRow: EXAONE 3 and 3.5 are Llama with GPT-2's names and unpermuted queries and
// keys.
var exaoneRow = &row{
	arch: "exaone", model: "exaone", names: []string{"ExaoneForCausalLM"},
	defaults: []preset{{"vocab_size", "102400"}, {"layer_norm_epsilon", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "ln_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.attention.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
			{hf: "attn.attention.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
			{hf: "attn.attention.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "attn.attention.out_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "ln_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.c_fc_0", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "mlp.c_fc_1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: exaoneKeys, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: exaoneBack},
}

// exaoneKeys adds the epsilon under the key that llama.cpp reads. The converter writes
// LayerNorm's, and llama.cpp does not load its files.
func exaoneKeys(k *keys) {
	common(k)
	k.f32("attention.layer_norm_rms_epsilon", "layer_norm_epsilon")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.hidden()/k.c.heads(), 1)))
	k.requireMember("activation_function", "silu")
}

func exaone4Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.window(0)
	if s.hasWindow(s.row.arch) {
		s.layerTypes(4)
		s.put("sliding_window_pattern", "4")
	} else {
		s.putPerLayer("layer_types", func(int64) string { return "full_attention" })
	}
	s.biased("attention_bias", projections...)
	s.put("hidden_act", `"silu"`)
}

func exaoneBack(s *settings) {
	_, _, head := s.common()
	n, _ := s.int("block_count")
	s.putInt("num_layers", n)
	s.rotations(head)
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.put("activation_function", `"silu"`)
}
