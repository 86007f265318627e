package family

var mlxPlain = &mlxForm{}

// sparseExperts are experts under Mixtral's names.
var sparseExperts = []mapping{
	{hf: "block_sparse_moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "block_sparse_moe.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{FFN, Hidden}, op: stack},
	{hf: "block_sparse_moe.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, FFN}, op: stack},
	{hf: "block_sparse_moe.experts.*.w3", gguf: "ffn_up_exps", shape: dims{FFN, Hidden}, op: stack},
}

var minimaxExperts = append(sparseExperts[:4:4], mapping{hf: "block_sparse_moe.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true})

var minimaxRow = &row{
	arch: "minimax-m2", model: "minimax_m2", names: []string{"MiniMaxM2ForCausalLM"},
	defaults: []preset{
		{"vocab_size", "200064"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "196608"}, {"head_dim", "128"}, {"num_key_value_heads", "8"},
		{"num_local_experts", "256"}, {"num_experts_per_tok", "8"}, {"rope_theta", "5000000"}, {"scoring_func", `"sigmoid"`}, // without which llama.cpp aborts
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(allHeadNorms, ffnNorm), minimaxExperts...)...)
	}),
	keys: minimaxKeys, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"block_sparse_moe.gate"}, form: mlxPlain}, back: backward{members: minimaxBack},
}

func minimaxKeys(k *keys) {
	common(k)
	k.u32("expert_feed_forward_length", "intermediate_size")
	if k.c.get("rotary_dim").There {
		k.u32("rope.dimension_count", "rotary_dim")
		return
	}
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.headDim(), 1)))
}

func minimaxBack(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	if n, ok := s.int("rope.dimension_count"); ok {
		s.putInt("rotary_dim", n)
	}
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	wide, _ := s.int("feed_forward_length")
	s.expect("expert_feed_forward_length", float64(wide))
	s.expect("expert_gating_func", 2)
	s.put("scoring_func", `"sigmoid"`)
	s.put("use_routing_bias", "true")
	s.put("use_qk_norm", "true")
	s.put("hidden_act", `"silu"`)
}
