package family

// Trinity of Arcee has a gate on its attention, four norms in each layer, and rotary
// embeddings only in layers with a window.

func beforeMixture(c *config, layer int64) bool { return layer < c.int("num_dense_layers") }

var afmoeRow = &row{
	arch: "afmoe", model: "afmoe", names: []string{"AfmoeForCausalLM"},
	defaults: []preset{
		{"vocab_size", "200192"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "16384"}, {"head_dim", "128"}, {"num_dense_layers", "1"}, {"num_experts", "64"}, {"num_experts_per_tok", "6"},
		{"num_shared_experts", "2"}, {"route_scale", "1.0"}, {"sliding_window", "1024"}, {"global_attn_every_n_layers", "4"}, {"route_norm", "true"}, {"mup_enabled", "false"}, {"rope_theta", "10000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(headNorms, []mapping{
			{hf: "self_attn.gate_proj", gguf: "attn_gate", shape: dims{Q, Hidden}},
			{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			{hf: "pre_mlp_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "post_mlp_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
		}...), with(onlyIn(beforeMixture, mlp), onlyIn(not(beforeMixture), with(bailingMixed[1:],
			mapping{hf: "mlp.router.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			mapping{hf: "mlp.expert_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
		))...)...)...)
	}),
	keys: afmoeKeys, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: afmoeBack},
}

func afmoeKeys(k *keys) {
	smollm3Keys(k)
	k.u32("expert_shared_count", "num_shared_experts")
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("leading_dense_block_count", "num_dense_layers")
	k.putArch("expert_weights_norm", k.c.bool("route_norm", true))
	k.f32("expert_weights_scale", "route_scale")
	k.u32("attention.sliding_window", "sliding_window")
	k.requireMember("mup_enabled", "true")
	k.requireMember("global_attn_every_n_layers", "4")
	k.requireMember("score_func", "sigmoid")
	k.requireMember("hidden_act", "silu")
	if k.c.int("sliding_window") < 1 {
		k.fail("sliding_window", k.c.get("sliding_window"), "a number of tokens: llama.cpp has no such model without a window")
	}
	for i, kind := range k.c.get("layer_types").List() {
		if err := k.b.Step(1); err != nil && k.err == nil {
			k.err = err
		}
		if (kind.String() == "full_attention") != (i%4 == 3) {
			k.fail("layer_types", kind, "full_attention in every fourth layer and no other, as llama.cpp assumes")
		}
	}
}

func afmoeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("num_shared_experts", "expert_shared_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("num_dense_layers", "leading_dense_block_count")
	s.optionalFloat("route_scale", "expert_weights_scale")
	s.expect("expert_weights_norm", 1)
	s.expect("expert_gating_func", 2)
	s.requireInt("sliding_window", "attention.sliding_window")
	s.put("global_attn_every_n_layers", "4")
	s.put("mup_enabled", "true")
	s.put("hidden_act", `"silu"`)
}
