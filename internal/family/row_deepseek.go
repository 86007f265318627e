package family

// latentMLX has the two parts of kv_b_proj as llama.cpp has them.
var latentMLX = map[string]string{"attn_k_b": "self_attn.embed_q", "attn_v_b": "self_attn.unembed_out"}

var mlxDeepseek3 = &mlxForm{names: latentMLX, castExcept: []string{scoreBias}, quantizeExcept: gateAlone}

var mlxDeepseek2 = &mlxForm{quantizeExcept: gateAlone}

// deepseekRow: the first mixture of DeepSeek, with Llama's attention.
var deepseekRow = &row{
	arch: "deepseek", model: "deepseek", names: []string{"DeepseekForCausalLM"},
	defaults: deepseekDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(with(denseMLP, sharedMixture...), ffnNorm)...))
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("rope.dimension_count", uint32(k.c.headDim()))
		k.putArch("rope.scaling.type", "none")
		k.u32("leading_dense_block_count", "first_k_dense_replace")
		k.u32("vocab_size", "vocab_size")
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.putArch("expert_weights_scale", float32(1))
		k.u32("expert_count", "n_routed_experts")
		k.u32("expert_shared_count", "n_shared_experts")
		k.requireMember("moe_layer_freq", "1")
		k.requireMember("norm_topk_prob", "false")
		k.requireMember("scoring_func", "softmax")
		k.requireMember("hidden_act", "silu")
		if v := k.c.rope().params.Get("factor"); v.There {
			k.fail("rope_scaling", v, "null, as llama.cpp assumes")
		}
	}, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared}, back: backward{members: func(s *settings) {
		_, _, head := s.common()
		s.rotations(head)
		s.requireInt("first_k_dense_replace", "leading_dense_block_count")
		s.requireInt("n_routed_experts", "expert_count")
		s.requireInt("num_experts_per_tok", "expert_used_count")
		s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
		s.requireInt("n_shared_experts", "expert_shared_count")
		s.expect("expert_weights_scale", 1)
		s.expect("expert_gating_func", 1)
		s.biases("attention_bias", s.layers(), projections...)
		s.put("norm_topk_prob", "false")
		s.put("moe_layer_freq", "1")
		s.put("scoring_func", `"softmax"`)
		s.put("hidden_act", `"silu"`)
	}},
}

var (
	deepseekDefaults = []preset{{"rms_norm_eps", "1e-06"}, {"rope_theta", "10000"}, {"max_position_embeddings", "2048"}}
)

var deepseek2Row = &row{
	arch: "deepseek2", model: "deepseek_v2", names: []string{"DeepseekV2ForCausalLM"},
	defaults: deepseekDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return mla(with(denseMLP, sharedMixture...)...)
	}),
	keys: deepseekKeys, vocab: deepseekVocab,

	ahead: ahead{dropped: true}, mlx: mlxRow{form: mlxDeepseek2}, back: backward{members: deepseek2Back, matches: func(s *settings) bool { return !s.hasCorrection() }},
}

var deepseek3Row = &row{
	arch: "deepseek2", model: "deepseek_v3", names: []string{"DeepseekV3ForCausalLM"},
	defaults: append(deepseekDefaults[:len(deepseekDefaults):len(deepseekDefaults)], preset{"scoring_func", `"sigmoid"`}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return mla(with(with(denseMLP, sharedMixture...), correction)...)
	}),
	keys: deepseekKeys, vocab: deepseekVocab,

	ahead: ahead{dropped: true}, mlx: mlxRow{form: mlxDeepseek3}, back: backward{members: deepseek3Back, matches: func(s *settings) bool { return s.hasCorrection() && s.text("pre") != "glm4" }},
}

// hasCorrection reports a router whose scores are corrected, which is V3's.
func (s *settings) hasCorrection() bool {
	for name := range s.tensors {
		if s.b.Step(1) != nil {
			return false // what follows asks the same account
		}
		if len(name) > 16 && name[len(name)-16:] == "exp_probs_b.bias" {
			return true
		}
	}
	return false
}

// deepseekKeys are those of DeepseekV2Model: attention is that of one head of keys,
// which is what the latent vector is.
func deepseekKeys(k *keys) {
	common(k)
	rank, rotated := k.c.int("kv_lora_rank"), k.c.int("qk_rope_head_dim")
	k.putArch("attention.head_count_kv", uint32(1))
	k.u32("leading_dense_block_count", "first_k_dense_replace")
	k.u32("vocab_size", "vocab_size")
	k.u32("attention.q_lora_rank", "q_lora_rank")
	k.u32("attention.kv_lora_rank", "kv_lora_rank")
	k.putArch("attention.key_length", uint32(rank+rotated))
	k.putArch("attention.value_length", uint32(rank))
	k.putArch("attention.key_length_mla", uint32(k.c.nope()+rotated))
	k.u32("attention.value_length_mla", "v_head_dim")
	k.mixture()
	if on, ok := k.c.get("norm_topk_prob").Bool(); ok && on {
		k.putArch("expert_weights_norm", true)
	}
	k.putArch("rope.dimension_count", uint32(rotated))
	if f, ok := k.c.rope().params.Get("mscale_all_dim").Float(); ok {
		k.putArch("rope.scaling.yarn_log_multiplier", float32(0.1*f))
	}
}

// latentBack are the members of DeepSeek's attention and experts.
func (s *settings) latentBack() {
	s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	heads := s.requireInt("num_attention_heads", "attention.head_count")
	s.putInt("num_key_value_heads", heads)
	s.expect("attention.head_count_kv", 1)
	s.requireInt("intermediate_size", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.optionalFloat("rms_norm_eps", "attention.layer_norm_rms_epsilon")
	s.vocabulary()
	rank := s.requireInt("kv_lora_rank", "attention.kv_lora_rank")
	rotated := s.requireInt("qk_rope_head_dim", "rope.dimension_count")
	if n, ok := s.int("attention.q_lora_rank"); ok {
		s.putInt("q_lora_rank", n)
	} else {
		s.put("q_lora_rank", "null")
	}
	s.expect("attention.key_length", float64(rank+rotated))
	s.expect("attention.value_length", float64(rank))
	if n, ok := s.int("attention.key_length_mla"); !ok || n < rotated {
		s.fail("deepseek2.attention.key_length_mla", "its value is %d, of which %d rotate", n, rotated)
	} else {
		s.putInt("qk_nope_head_dim", n-rotated)
	}
	s.requireInt("v_head_dim", "attention.value_length_mla")
	s.rotations(rotated)
	s.put("attention_bias", "false")
	s.put("hidden_act", `"silu"`)
	s.routerMembers()
}

func deepseek2Back(s *settings) {
	s.latentBack()
	s.expect("expert_gating_func", 1)
	s.expect("expert_group_count", 1)
	s.put("topk_method", `"greedy"`)
}

func deepseek3Back(s *settings) {
	s.latentBack()
	s.expect("expert_gating_func", 2)
	s.put("scoring_func", `"sigmoid"`)
	s.put("topk_method", `"noaux_tc"`)
	s.put("num_nextn_predict_layers", "0")
}
