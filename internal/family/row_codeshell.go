package family

// codeshellRow: CodeShell, with the names of GPT-2 and groups of heads.
var codeshellRow = &row{
	arch: "codeshell", model: "kclgpt", names: []string{"CodeShellForCausalLM"},
	defaults: []preset{{"layer_norm_epsilon", "1e-05"}},
	outer:    refactRow.outer, layer: "transformer.h.#.",
	layers: lazy(func() []mapping { return gpt2Linears(double(double(Hidden))) }),
	biased: []string{"attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down", "output_norm"},
	keys: func(k *keys) {
		k.u32("context_length", "n_positions")
		k.u32("embedding_length", "n_embd")
		k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
		k.putArch("block_count", uint32(k.c.layers()))
		k.putArch("attention.head_count", uint32(k.c.heads()))
		k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
		k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
		k.putArch("rope.freq_base", float32(10000))
		k.putArch("rope.scaling.type", "linear")
		k.putArch("rope.scaling.factor", float32(1))
	}, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{".attn.rotary_emb.inv_freq"}}, attention: attention{kvHeads: func(c *config) int64 { return c.int("num_query_groups") }}, mlx: mlxRow{none: notCompared},
}
