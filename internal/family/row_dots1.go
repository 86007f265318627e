package family

var mlxDots = &mlxForm{stacks: "mlp.experts.", quantizeExcept: gateAlone}

var dots1Row = &row{
	arch: "dots1", model: "dots1", names: []string{"Dots1ForCausalLM"},
	defaults: []preset{{"vocab_size", "152064"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"first_k_dense_replace", "0"}, {"n_group", "1"}, {"topk_group", "1"}, {"routed_scaling_factor", "1.0"}, {"norm_topk_prob", "false"}, {"rope_theta", "10000"}, {"scoring_func", `"sigmoid"`}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(headNorms, ffnNorm, correction), with(denseMLP, sharedMixture...)...)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.u32("leading_dense_block_count", "first_k_dense_replace")
		k.u32("expert_shared_count", "n_shared_experts")
		k.f32("expert_weights_scale", "routed_scaling_factor")
		k.putArch("expert_weights_norm", k.c.bool("norm_topk_prob", false))
	}, vocab: gpt2Vocab,

	mlx: mlxRow{form: mlxDots}, back: backward{members: dots1Back},
}

func dots1Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.routerMembers()
	s.expect("expert_gating_func", 2)
	s.put("sliding_window", "null")
	s.put("hidden_act", `"silu"`)
}
