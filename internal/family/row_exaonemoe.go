package family

// exaoneMoeRow: K-EXAONE, a mixture. Its layers under "mtp.", which predict further tokens, may be
// missing and are refused if they are there: they were not compared.
var exaoneMoeRow = &row{
	arch: "exaone-moe", model: "exaone_moe", names: []string{"ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM"},
	defaults: []preset{{"vocab_size", "102400"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}, {"num_shared_experts", "1"}, {"routed_scaling_factor", "2.5"}, {"scoring_func", `"sigmoid"`}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(headNorms, ffnNorm), experted("mlp.e_score_correction_bias", sharedCount)...)...)
	}),
	keys: func(k *keys) {
		exaone4Row.keys(k)
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.u32("expert_shared_count", "num_shared_experts")
		k.putArch("expert_shared_feed_forward_length", uint32(sharedCount(k.c)))
		k.f32("expert_weights_scale", "routed_scaling_factor")
		k.putArch("expert_weights_norm", k.c.bool("norm_topk_prob", true))
		k.putArch("leading_dense_block_count", uint32(k.c.int("first_k_dense_replace", "first_last_k_dense_replace")))
		k.putArch("nextn_predict_layers", uint32(k.c.int("num_nextn_predict_layers")))
		k.putArch("rope.scaling.type", "none")
	}, vocab: gpt2Vocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

// exaone45Row: the text model of EXAONE 4.5.
var exaone45Row = &row{
	arch: "exaone4", model: "exaone4_5", names: []string{"Exaone4_5_ForConditionalGeneration"},
	defaults: exaone4Row.defaults, outer: outer, layer: decoderLayer, layers: exaone4Row.layers,
	keys: func(k *keys) {
		exaone4Row.keys(k)
		k.aheadKey()
	}, vocab: gpt2Vocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}
