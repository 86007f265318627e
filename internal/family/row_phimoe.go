package family

// phimoeRow: the mixture of Phi 3.5, whose norms, matrices and head have biases.
var phimoeRow = &row{
	arch: "phimoe", model: "phimoe", names: []string{"PhimoeForCausalLM", "PhiMoEForCausalLM"},
	defaults: []preset{{"vocab_size", "32064"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"num_local_experts", "16"}, {"num_experts_per_tok", "2"}, {"rope_theta", "1000000"}, {"original_max_position_embeddings", "4096"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(ffnNorm,
			mapping{hf: "block_sparse_moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			mapping{hf: "block_sparse_moe.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{FFN, Hidden}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, FFN}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.w3", gguf: "ffn_up_exps", shape: dims{FFN, Hidden}, op: stack},
		)
	}),
	biased: []string{"attn_norm", "attn_output", "attn_q", "attn_k", "attn_v", "ffn_norm", "output", "output_norm"},
	keys:   phimoeKeys, vocab: phi3Vocab,

	attention: attention{factors: longFactors((*config).rotated)}, mlx: mlxRow{none: notCompared}, back: backward{members: phimoeBack},
}

func phimoeKeys(k *keys) {
	phi3Keys(k)
	k.u32("expert_used_count", "num_experts_per_tok", "num_experts_per_token")
	k.u32("expert_count", "num_local_experts", "num_experts")
	for _, m := range []string{"attention_bias", "lm_head_bias"} {
		if !k.c.bool(m, false) {
			k.fail(m, k.c.get(m), "true: llama.cpp needs the biases")
		}
	}
}

func phimoeBack(s *settings) {
	phi3Back(s)
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.biases("attention_bias", s.layers(), projections...)
	s.biases("", s.layers(), "attn_norm", "ffn_norm")
	s.put("lm_head_bias", "true")
}
