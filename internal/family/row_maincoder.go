package family

// maincoderRow: Maincoder, Llama with norms of each head.
var maincoderRow = &row{
	arch: "maincoder", model: "maincoder", names: []string{"MaincoderForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "1000000"}}, outer: outer, layer: decoderLayer, layers: qwen3Row.layers,
	keys: func(k *keys) {
		common(k)
		k.u32("rope.dimension_count", "head_dim")
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}
