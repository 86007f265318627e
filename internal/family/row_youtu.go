package family

// youtuRow: Youtu and the text model of Youtu-VL: DeepSeek's attention, and no experts.
var youtuRow = &row{
	arch: "deepseek2", model: "youtu", names: []string{"YoutuForCausalLM", "YoutuVLForConditionalGeneration"}, tied: true,
	defaults: deepseekDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping { return mla(mlp...) }),
	keys: func(k *keys) {
		deepseekKeys(k)
		k.putArch("leading_dense_block_count", uint32(k.c.layers()))
		k.putArch("expert_shared_count", uint32(0))
		if v := k.c.get("n_routed_experts"); v.There {
			k.fail("n_routed_experts", v, "null, as Youtu has no experts")
		}
	}, vocab: deepseekVocab,

	naming: naming{otherParts: []string{"siglip2.", "merger.", "model.siglip2.", "model.merger."}}, mlx: mlxRow{none: notCompared},
}
