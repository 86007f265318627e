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

// exaone45Projector: the vision part of EXAONE 4.5, which is Qwen2.5-VL's with groups of heads.
var exaone45Projector = &row{
	arch: "clip", prefix: "v.", names: []string{"Exaone4_5_ForConditionalGeneration"},
	defaults: []preset{{"in_channels", "3"}, {"image_size", "560"}, {"patch_size", "14"}, {"spatial_merge_size", "2"}, {"text hidden_size", "4096"}},
	outer:    qwenVision, layer: "visual.blocks.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attn.qkv", gguf: "attn_qkv", shape: dims{QKV, VisionHidden}},
			{hf: "attn.proj", gguf: "attn_out", shape: dims{VisionHidden, VisionHidden}},
			{hf: "norm1", gguf: "ln1", shape: dims{VisionHidden}},
			{hf: "norm2", gguf: "ln2", shape: dims{VisionHidden}},
			{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, VisionHidden}},
			{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, VisionHidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{VisionHidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "exaone4_5")
		k.put("clip.use_silu", true)
		k.pixels()
		k.u32("vision.attention.head_count_kv", "num_key_value_heads")
		eps := k.c.get("rms_norm_eps")
		if !eps.There {
			eps = k.c.full.Get("rms_norm_eps")
		}
		k.epsilon(eps, 1e-6)
		k.u32("vision.window_size", "window_size")
		k.windowPeriod()
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"visual.", "model.visual."}},
}

// windowPeriod adds the period of layers with full attention, which have to be evenly spaced.
func (k *keys) windowPeriod() {
	v := k.c.get("fullatt_block_indexes")
	list := v.List()
	if len(list) == 0 {
		return
	}
	first, ok := list[0].Int()
	for i := range min(len(list), maxLayers) {
		n, is := list[i].Int()
		ok = ok && is && n == first+int64(i)*(first+1)
	}
	if !ok || first < 0 || first > maxLayers {
		k.fail("fullatt_block_indexes", v, "a list of evenly spaced layers")
		return
	}
	k.putArch("vision.n_wa_pattern", uint32(first+1))
}
