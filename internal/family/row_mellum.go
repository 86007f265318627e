package family

// mellumRow: Mellum 2, a mixture with attention windows.
var mellumRow = &row{
	arch: "mellum", model: "mellum", names: []string{"MellumForCausalLM"},
	defaults: qwenPresets(preset{"head_dim", "128"}), outer: outer, layer: decoderLayer,
	layers: qwen3moeRow.layers,
	keys: func(k *keys) {
		common(k)
		if full, _ := k.c.rope().theta.Float(); k.c.rope().swa.There {
			if f, ok := k.c.rope().swa.Float(); !ok || f != full {
				k.fail("rope_parameters", k.c.rope().swa, "with one rope_theta for all layers, as llama.cpp assumes")
			}
		}
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		if k.c.bool("use_sliding_window", true) {
			windowKeys(k, 0)
		}
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}
