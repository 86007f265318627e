package family

// smallthinkerRow: SmallThinker, whose router reads what is before the attention.
var smallthinkerRow = &row{
	arch: "smallthinker", model: "smallthinker", names: []string{"SmallThinkerForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "4096"}}, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		wide := func(c *config) int64 { return c.int("moe_ffn_hidden_size") }
		return decoder(ffnNorm,
			mapping{hf: "block_sparse_moe.primary_router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			mapping{hf: "block_sparse_moe.experts.*.gate", gguf: "ffn_gate_exps", shape: dims{wide, Hidden}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.up", gguf: "ffn_up_exps", shape: dims{wide, Hidden}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.down", gguf: "ffn_down_exps", shape: dims{Hidden, wide}, op: stack},
		)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("expert_count", "moe_num_primary_experts")
		k.u32("expert_used_count", "moe_num_active_primary_experts")
		k.u32("expert_feed_forward_length", "moe_ffn_hidden_size")
		k.u32("feed_forward_length", "moe_ffn_hidden_size")
		gate := uint32(2)
		if k.c.bool("moe_primary_router_apply_softmax", false) {
			gate = 1
		}
		k.putArch("expert_gating_func", gate)
		for _, v := range k.c.get("sliding_window_layout").List() {
			if n, _ := v.Int(); n != 0 {
				if k.c.int("sliding_window_size") > 0 {
					k.u32("attention.sliding_window", "sliding_window_size")
				}
				break
			}
		}
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}
