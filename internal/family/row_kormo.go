package family

// kormoRow: KORMo, which is Qwen 2 with other names of its norms.
var kormoRow = &row{
	arch: "qwen2", model: "kormo", names: []string{"KORMoForCausalLM"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with([]mapping{
			{hf: "pre_attention_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "pre_mlp_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
		}, with(decoder()[1:], mlp...)...)
	}),
	keys: qwenKeys, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared},
}
