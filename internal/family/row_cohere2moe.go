package family

// cohere2moeRow: Command A with experts, after layers without.
var cohere2moeRow = &row{
	arch: "cohere2moe", model: "cohere2_moe", names: []string{"Cohere2MoeForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "256000"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}, {"logit_scale", "0.0625"}, {"sliding_window", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(onlyIn(leads, []mapping{
			{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{PrefixFFN, Hidden}},
			{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{PrefixFFN, Hidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, PrefixFFN}},
		}), onlyIn(follows, []mapping{
			{hf: "mlp.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "mlp.experts.*.gate_proj", gguf: "ffn_gate_exps", shape: dims{FFN, Hidden}, op: stack},
			{hf: "mlp.experts.*.up_proj", gguf: "ffn_up_exps", shape: dims{FFN, Hidden}, op: stack},
			{hf: "mlp.experts.*.down_proj", gguf: "ffn_down_exps", shape: dims{Hidden, FFN}, op: stack},
		})...), onlyIn(cohereShares, []mapping{
			{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{cohereShared, Hidden}},
			{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{cohereShared, Hidden}},
			{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, cohereShared}},
		})...)...)
	}),
	keys: cohere2moeKeys, vocab: gpt2Vocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

// PrefixFFN is the width of layers without experts.
func PrefixFFN(c *config) int64 {
	return c.int("prefix_dense_intermediate_size", "dense_intermediate_size", "intermediate_size")
}

func cohereShared(c *config) int64 {
	n := c.int("num_shared_experts")
	if n > 1<<10 {
		return 0 // no tensor has this shape
	}
	return n * FFN(c)
}

func cohereShares(c *config, layer int64) bool {
	return follows(c, layer) && c.int("num_shared_experts") > 0
}

func cohere2moeKeys(k *keys) {
	common(k)
	k.f32("logit_scale", "logit_scale")
	windowKeys(k, 0)
	k.u32("vocab_size", "vocab_size")
	k.u32("expert_feed_forward_length", "intermediate_size")
	k.putArch("leading_dense_block_count", uint32(k.c.leadingDense()))
	k.putArch("expert_weights_norm", k.c.bool("norm_topk_prob", false))
	if n := k.c.int("num_shared_experts"); n > 0 {
		k.requireMember("shared_expert_combination_strategy", "average")
		k.putArch("expert_shared_count", uint32(n))
		k.putArch("expert_shared_feed_forward_length", uint32(cohereShared(k.c)))
	}
	k.aheadKey()
	k.u32("rope.dimension_count", "head_dim")
	k.putArch("rope.scaling.type", "none")
}
