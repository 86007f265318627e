package family

import (
	"slices"
)

var mlxGLMLite = &mlxForm{names: latentMLX, skips: dropMTP, castExcept: []string{scoreBias}, quantizeExcept: gateAlone}

var mlxGLM = &mlxForm{skips: dropMTP, castExcept: []string{scoreBias}, quantizeExcept: gateAlone}

var glm4Row = &row{
	arch: "glm4", model: "glm4", names: []string{"Glm4ForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1.5625e-07"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(
			mapping{hf: "post_self_attn_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			ffnNorm,
			mapping{hf: "post_mlp_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
			mapping{hf: "mlp.gate_up_proj", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			mapping{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		)
	}),
	keys: glm4Keys, vocab: glm4Vocab,

	back: backward{members: glm4Back},
}

// glm4Keys adds the part of a head that rotates.
func glm4Keys(k *keys) {
	common(k)
	k.putArch("rope.dimension_count", uint32(k.c.rotatedDims()))
}

func glm4Vocab(k *keys) error {
	return k.glmTokens(specialToken{"eos", "<|endoftext|>"}, specialToken{"eot", "<|user|>"}, specialToken{"unk", "<|endoftext|>"}, specialToken{"bos", "<|endoftext|>"})
}

func glm4Back(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.put("hidden_act", `"silu"`)
}

// glm4moeRow: GLM-4.5, a mixture followed by layers that predict further tokens.
var glm4moeRow = &row{
	arch: "glm4moe", model: "glm4_moe", names: []string{"Glm4MoeForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder(
			mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			mapping{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Head}, inLayer: hasQKNorm},
			mapping{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{Head}, inLayer: hasQKNorm},
			correction,
		), slices.Concat(glmMTP, denseMLP, sharedMixture)...)
	}),
	keys: glm4moeKeys, vocab: glm4moeVocab,

	ahead: aheadCounted, mlx: mlxRow{form: mlxGLM}, back: backward{members: glm4moeBack},
}

func hasQKNorm(c *config, _ int64) bool { return c.bool("use_qk_norm", false) }

func glm4moeKeys(k *keys) {
	glm4Keys(k)
	k.mixture()
	k.u32("leading_dense_block_count", "first_k_dense_replace")
	k.putArch("expert_gating_func", uint32(2))
	if on, ok := k.c.get("norm_topk_prob").Bool(); ok {
		k.putArch("expert_weights_norm", on)
	}
	k.u32("nextn_predict_layers", "num_nextn_predict_layers")
}

func glm4moeVocab(k *keys) error {
	return k.glmTokens(specialToken{"bos", "[gMASK]"}, specialToken{"eot", "<|user|>"}, specialToken{"unk", "<|endoftext|>"}, specialToken{"eom", "<|observation|>"})
}

func glm4moeBack(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.put("use_qk_norm", boolText(s.tensors["blk.0.attn_q_norm.weight"] != nil))
	s.put("hidden_act", `"silu"`)
	s.routerMembers()
	s.expect("expert_gating_func", 2)
	s.mtpMembers()
}

// glm4liteRow: GLM-4.7 Flash, with DeepSeek's attention and experts, followed by layers
// that predict further tokens.
var glm4liteRow = &row{
	arch: "deepseek2", model: "glm4_moe_lite", names: []string{"Glm4MoeLiteForCausalLM"},
	defaults: append(deepseekDefaults[1:len(deepseekDefaults):len(deepseekDefaults)], preset{"rms_norm_eps", "1e-05"}, preset{"n_shared_experts", "1"}, preset{"n_group", "1"}, preset{"topk_group", "1"}),
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return mla(slices.Concat(denseMLP, sharedMixture, []mapping{correction}, glmMTP)...)
	}),
	keys: func(k *keys) {
		deepseekKeys(k)
		if k.c.int("num_nextn_predict_layers") > 0 {
			k.u32("nextn_predict_layers", "num_nextn_predict_layers")
		}
	}, vocab: glm4moeVocab,

	ahead: aheadCounted, mlx: mlxRow{form: mlxGLMLite}, back: backward{members: glm4liteBack, matches: func(s *settings) bool { return s.hasCorrection() && s.text("pre") == "glm4" }},
}

func glm4liteBack(s *settings) {
	deepseek3Back(s)
	n, _ := s.int("nextn_predict_layers")
	all, _ := s.int("block_count")
	if n >= all && n > 0 {
		s.fail("deepseek2.nextn_predict_layers", "its value is %d, of %d layers", n, all)
	}
	s.replace("num_hidden_layers", itoa(all-n))
	s.replace("num_nextn_predict_layers", itoa(n))
}
