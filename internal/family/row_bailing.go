package family

import (
	"slices"
)

// Ling, a mixture of Ant Group. In the first generation, every layer has experts, and queries
// and keys rotate in pairs. The second has norms of each head and begins with dense layers.

func sharedWide(c *config) int64 {
	each, n := c.int("moe_intermediate_size"), c.int("num_shared_experts")
	if w := c.int("moe_shared_expert_intermediate_size"); w > 0 {
		return w
	}
	if n < 0 || n > 1<<10 {
		return 0 // no tensor has this shape
	}
	return each * n
}

var (
	bailingOuter = []mapping{{hf: "model.word_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}}, outer[1], outer[2]}
	bailingMixed = with(experts,
		mapping{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{sharedWide, Hidden}},
		mapping{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{sharedWide, Hidden}},
		mapping{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, sharedWide}},
	)
)

var bailingRow = &row{
	arch: "bailingmoe", model: "bailing_moe", names: []string{"BailingMoeForCausalLM"},
	defaults: []preset{{"vocab_size", "30592"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "16384"}, {"rope_theta", "10000"}, {"first_k_dense_replace", "0"}, {"norm_topk_prob", "true"}},
	outer:    bailingOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat(decoder()[:1], []mapping{
			{hf: "attention.query_key_value", shape: dims{QKV, Hidden}, views: stackedQKV()},
			{hf: "attention.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			ffnNorm,
		}, bailingMixed)
	}),
	keys: bailingKeys, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: bailingBack},
}

func bailingKeys(k *keys) {
	bailingCommon(k)
	k.putArch("rope.dimension_count", uint32(k.c.headDim()))
	k.putArch("expert_weights_scale", float32(1))
	for _, m := range []string{"use_qkv_bias", "use_bias", "norm_head", "norm_softmax"} {
		k.requireMember(m, "false")
	}
	k.requireMember("first_k_dense_replace", "0")
}

// bailingCommon adds the keys of both generations.
func bailingCommon(k *keys) {
	common(k)
	k.u32("leading_dense_block_count", "first_k_dense_replace")
	k.u32("vocab_size", "vocab_size")
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_count", "num_shared_experts")
	k.putArch("expert_weights_norm", k.c.bool("norm_topk_prob", false))
	k.requireMember("hidden_act", "silu")
}

// bailingMembers puts the members of both generations.
func bailingMembers(s *settings) (head int64) {
	_, _, head = s.common()
	s.requireInt("first_k_dense_replace", "leading_dense_block_count")
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("num_shared_experts", "expert_shared_count")
	v, _ := s.key("expert_weights_norm")
	normed, _ := v.(bool)
	s.put("norm_topk_prob", boolText(normed))
	s.put("hidden_act", `"silu"`)
	return head
}

func bailingBack(s *settings) {
	s.rotations(bailingMembers(s))
	s.expect("expert_weights_scale", 1)
	s.put("norm_head", "false")
	s.put("use_qkv_bias", "false")
}

var bailing2Row = &row{
	arch: "bailingmoe2", model: "bailing_moe_v2", names: []string{"BailingMoeV2ForCausalLM"},
	defaults: []preset{{"vocab_size", "157184"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "600000"}, {"norm_topk_prob", "true"}, {"routed_scaling_factor", "2.5"}, {"score_function", `"sigmoid"`}},
	outer:    bailingOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat(decoder()[:1], []mapping{
			{hf: "attention.query_key_value", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "attention.query_layernorm", gguf: "attn_q_norm", shape: dims{Head}},
			{hf: "attention.key_layernorm", gguf: "attn_k_norm", shape: dims{Head}},
			{hf: "attention.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			ffnNorm,
		}, denseMLP, onlyIn(isMixture, with(bailingMixed,
			mapping{hf: "mlp.gate.expert_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
		)))
	}),
	keys: bailing2Keys, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: bailing2Back},
}

func bailing2Keys(k *keys) {
	bailingCommon(k)
	k.putArch("rope.dimension_count", uint32(k.c.rotatedDims()))
	k.putArch("expert_shared_feed_forward_length", uint32(sharedWide(k.c)))
	k.f32("expert_weights_scale", "routed_scaling_factor")
	k.u32("nextn_predict_layers", "num_nextn_predict_layers")
	for _, m := range []string{"use_qkv_bias", "use_bias"} {
		k.requireMember(m, "false")
	}
	k.requireMember("num_nextn_predict_layers", "0")
	k.requireMember("use_qk_norm", "true")
	if k.c.heads()*k.c.headDim() != k.c.hidden() {
		k.fail("head_dim", k.c.get("head_dim"), "hidden_size / num_attention_heads, as llama.cpp assumes for Ling 2")
	}
	if n := k.c.int("num_shared_experts"); n != 1 {
		k.fail("num_shared_experts", k.c.get("num_shared_experts"), "1: llama.cpp multiplies the width of the shared expert by their number")
	}
}

func bailing2Back(s *settings) {
	s.partialRotary(bailingMembers(s))
	s.optionalFloat("routed_scaling_factor", "expert_weights_scale")
	s.requireInt("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length")
	for _, m := range [][2]string{{"n_group", "expert_group_count"}, {"topk_group", "expert_group_used_count"}} {
		if n, ok := s.int(m[1]); ok {
			s.putInt(m[0], n)
		}
	}
	s.expect("expert_gating_func", 2)
	s.put("score_function", `"sigmoid"`)
	s.expect("nextn_predict_layers", 0)
	s.put("num_nextn_predict_layers", "0")
	s.put("use_qk_norm", "true")
	s.put("use_qkv_bias", "false")
}
