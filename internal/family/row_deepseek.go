package family

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// isDense and isMixture report the first layers of a mixture, which are dense, and the
// others.
func isDense(c *config, layer int64) bool   { return layer < c.int("first_k_dense_replace") }
func isMixture(c *config, layer int64) bool { return !isDense(c, layer) }

// onlyIn restricts tensors to some layers.
func onlyIn(which func(*config, int64) bool, list []mapping) []mapping {
	out := append([]mapping(nil), list...)
	for i := range out {
		out[i].inLayer = which
	}
	return out
}

// lowRank and fullRank report whether queries are computed in two steps.
func lowRank(c *config, _ int64) bool  { return c.int("q_lora_rank") > 0 }
func fullRank(c *config, _ int64) bool { return c.int("q_lora_rank") == 0 }

// latent is the matrix from DeepSeek's latent vector to keys and values. llama.cpp has it
// in two, that of keys transposed within each head.
var latent = mapping{
	hf: "self_attn.kv_b_proj", shape: dims{LatentKV, KVRank},
	views: []view{
		{
			gguf:  "attn_k_b",
			shape: func(c *config) []int64 { return []int64{c.heads(), c.int("kv_lora_rank"), c.nope()} },
			strides: func(c *config) ([]int64, int64) {
				rank := c.int("kv_lora_rank")
				return []int64{(c.nope() + c.int("v_head_dim")) * rank, 1, rank}, 0
			},
		},
		{
			gguf:  "attn_v_b",
			shape: func(c *config) []int64 { return []int64{c.heads(), c.int("v_head_dim"), c.int("kv_lora_rank")} },
			strides: func(c *config) ([]int64, int64) {
				rank := c.int("kv_lora_rank")
				return []int64{(c.nope() + c.int("v_head_dim")) * rank, rank, 1}, c.nope() * rank
			},
		},
	},
	join: func(c *config, of []tensor.Info, _ []int64) (list []Part) {
		rank, nope := c.int("kv_lora_rank"), c.nope()
		for h := range c.heads() {
			keys, values := headOf(of[0], h), headOf(of[1], h)
			keys.Shape, keys.Strides = []int64{nope, rank}, []int64{1, nope}
			list = append(list, Part{Info: keys}, Part{Info: values})
		}
		return list
	},
}

// headOf returns one head of a tensor whose first dimension is heads.
func headOf(i tensor.Info, head int64) tensor.Info {
	i.Span.Len /= i.Shape[0]
	i.Span.Off += head * i.Span.Len
	i.Shape = i.Shape[1:]
	return i
}

func mla(more ...mapping) []mapping {
	return with([]mapping{
		{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{LatentQ, Hidden}, inLayer: fullRank},
		{hf: "self_attn.q_a_proj", gguf: "attn_q_a", shape: dims{QRank, Hidden}, inLayer: lowRank},
		{hf: "self_attn.q_a_layernorm", gguf: "attn_q_a_norm", shape: dims{QRank}, inLayer: lowRank},
		{hf: "self_attn.q_b_proj", gguf: "attn_q_b", shape: dims{LatentQ, QRank}, inLayer: lowRank},
		{hf: "self_attn.kv_a_proj_with_mqa", gguf: "attn_kv_a_mqa", shape: dims{KVRankRope, Hidden}},
		{hf: "self_attn.kv_a_layernorm", gguf: "attn_kv_a_norm", shape: dims{KVRank}},
		latent,
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, LatentV}},
		ffnNorm,
	}, more...)
}

var (
	denseMLP      = onlyIn(isDense, mlp)
	sharedMixture = onlyIn(isMixture, with(experts,
		mapping{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedExperts, Hidden}},
		mapping{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedExperts, Hidden}},
		mapping{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedExperts}},
	))
	correction = mapping{hf: "mlp.gate.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true, inLayer: isMixture}

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

// mixture are keys of experts that are chosen, and of those that always are.
func (k *keys) mixture() {
	k.u32("expert_feed_forward_length", "moe_intermediate_size", "intermediate_size")
	k.u32("expert_count", "n_routed_experts")
	k.u32("expert_shared_count", "n_shared_experts")
	if v := k.c.get("routed_scaling_factor"); v.There {
		k.number("expert_weights_scale", "routed_scaling_factor", v)
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

// routerMembers are the members of a mixture with experts that are always chosen.
func (s *settings) routerMembers() {
	s.requireInt("first_k_dense_replace", "leading_dense_block_count")
	s.requireInt("n_routed_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("n_shared_experts", "expert_shared_count")
	s.scoring()
}

// scoring are the members of how experts are weighed.
func (s *settings) scoring() {
	if !s.optionalFloat("routed_scaling_factor", "expert_weights_scale") {
		s.put("routed_scaling_factor", "1.0")
	}
	v, _ := s.key("expert_weights_norm")
	normed, _ := v.(bool)
	s.put("norm_topk_prob", boolText(normed))
	for _, m := range [][2]string{{"n_group", "expert_group_count"}, {"topk_group", "expert_group_used_count"}} {
		if n, ok := s.int(m[1]); ok {
			s.putInt(m[0], n)
		}
	}
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
