package family

// Qwen's queries and keys are not permuted.
var qwenDefaults = []preset{{"vocab_size", "151936"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "10000"}}

var qwen2Row = &row{
	arch: "qwen2", model: "qwen2", names: []string{"Qwen2ForCausalLM", "Qwen2Model"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: qwenKeys, vocab: spmOrBytes,

	naming: naming{headless: []string{"Qwen2Model"}, optionalPrefix: "model."}, back: backward{members: qwen2Back},
}

var qwen3Row = &row{
	arch: "qwen3", model: "qwen3", names: []string{"Qwen3ForCausalLM", "Qwen3Model"},
	defaults: qwenPresets(preset{"head_dim", "128"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(mlp, ffnNorm), headNorms...)...)
	}),
	keys: qwenKeys, vocab: spmOrBytes,

	naming: naming{headless: []string{"Qwen3Model"}, optionalPrefix: "model."}, classifier: classifier{reranks: true}, back: backward{members: qwen3Back},
}

var qwen2moeRow = &row{
	arch: "qwen2moe", model: "qwen2_moe", names: []string{"Qwen2MoeForCausalLM"},
	defaults: qwenPresets(preset{"num_experts", "60"}, preset{"num_experts_per_tok", "4"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, ffnNorm), sharedExpert...)...)
	}),
	keys: qwenMoeKeys, vocab: gpt2Vocab,

	back: backward{members: qwen2moeBack},
}

var qwen3moeRow = &row{
	arch: "qwen3moe", model: "qwen3_moe", names: []string{"Qwen3MoeForCausalLM"},
	defaults: qwenPresets(preset{"num_experts", "128"}, preset{"num_experts_per_tok", "8"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, ffnNorm), headNorms...)...)
	}),
	keys: qwenMoeKeys, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"mlp.gate"}}, back: backward{members: qwen3moeBack},
}

func qwenPresets(more ...preset) []preset {
	return append(qwenDefaults[:len(qwenDefaults):len(qwenDefaults)], more...)
}

// qwenKeys adds the keys of every decoder, and the pooling of embedding models.
func qwenKeys(k *keys) {
	common(k)
	if err := k.pooling(); err != nil && k.err == nil {
		k.err = err
	}
	k.rankKeys()
}

func qwenMoeKeys(k *keys) {
	common(k)
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_feed_forward_length", "shared_expert_intermediate_size")
}

func qwen2Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("", s.layers(), projections[:3]...)
	_, _ = s.key("pooling_type") // see lostPooling
	s.put("hidden_act", `"silu"`)
	s.put("use_sliding_window", "false")
}

func qwen3Back(s *settings) {
	_, _, head := s.common()
	s.rerankerMembers()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
	s.put("use_sliding_window", "false")
}

func qwen2moeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("qkv_bias", s.layers(), projections[:3]...)
	s.mixture(false)
	s.requireInt("shared_expert_intermediate_size", "expert_shared_feed_forward_length")
	s.put("hidden_act", `"silu"`)
	s.put("use_sliding_window", "false")
}

func qwen3moeBack(s *settings) {
	qwen3Back(s)
	s.mixture(true)
	s.expect("expert_shared_feed_forward_length", 0)
}
