package family

// grovemoeRow: GroveMoE, Qwen's experts in pairs, of which each has a small one beside it.
var grovemoeRow = &row{
	arch: "grovemoe", model: "grove_moe", names: []string{"GroveMoeForCausalLM", "modeling_grove_moe.GroveMoeForCausalLM"},
	defaults: qwen3moeRow.defaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, with(headNorms, ffnNorm)...),
			mapping{hf: "mlp.chunk_experts.*.gate_proj", gguf: "ffn_gate_chexps", shape: dims{groveFFN, Hidden}, op: stack, of: grovePairs},
			mapping{hf: "mlp.chunk_experts.*.up_proj", gguf: "ffn_up_chexps", shape: dims{groveFFN, Hidden}, op: stack, of: grovePairs},
			mapping{hf: "mlp.chunk_experts.*.down_proj", gguf: "ffn_down_chexps", shape: dims{Hidden, groveFFN}, op: stack, of: grovePairs},
		)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.putArch("expert_chunk_feed_forward_length", uint32(groveFFN(k.c)))
		k.putArch("experts_per_group", uint32(2))      // as in the published code
		k.putArch("expert_group_scale", float32(0.05)) // as in the published code
	}, vocab: gpt2Vocab,

	naming: naming{numbered: []string{"chunk_experts."}, skipSuffixes: []string{".expert_bias"}}, mlx: mlxRow{none: notCompared},
}

func grovePairs(c *config) int64 { return c.experts() / 2 }

// groveFFN is the width of the small experts, which the published code takes from a head.
func groveFFN(c *config) int64 {
	if n := c.int("head_dim"); n > 0 {
		return n
	}
	return 128
}
