package family

var qwenVision = []mapping{
	{hf: "visual.patch_embed.proj", shape: dims{VisionHidden, Channels, Frames, Patch, Patch}, typeRule: asHalf, views: []view{frames("v.patch_embd.weight", 0), frames("v.patch_embd.weight.1", 1)}},
	{hf: "visual.merger.ln_q", gguf: "v.post_ln", shape: dims{VisionHidden}},
	{hf: "visual.merger.mlp.0", gguf: "mm.0", shape: dims{Merged, Merged}},
	{hf: "visual.merger.mlp.2", gguf: "mm.2", shape: dims{TextHidden, Merged}},
}

func qwenBlocks(more ...mapping) []mapping {
	return with([]mapping{
		{hf: "attn.qkv", shape: dims{VisionQKV, VisionHidden}, views: []view{third("attn_q", 0), third("attn_k", 1), third("attn_v", 2)}},
		{hf: "attn.proj", gguf: "attn_out", shape: dims{VisionHidden, VisionHidden}},
		{hf: "norm1", gguf: "ln1", shape: dims{VisionHidden}},
		{hf: "norm2", gguf: "ln2", shape: dims{VisionHidden}},
	}, more...)
}

var qwen2vlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Qwen2VLForConditionalGeneration", "Qwen2VLModel", "Sarashina2VisionForCausalLM"},
	defaults: []preset{
		{"in_channels", "3"}, {"image_size", "560"}, {"patch_size", "14"}, {"depth", "32"}, {"embed_dim", "1280"}, {"hidden_size", "3584"}, {"mlp_ratio", "4"},
		{"num_heads", "16"}, {"spatial_merge_size", "2"}, {"text hidden_size", "8192"}, {"rms_norm_eps", "1e-06"},
	},
	outer: qwenVision, layer: "visual.blocks.#.",
	layers: lazy(func() []mapping {
		return qwenBlocks(
			mapping{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{VisionFFN, VisionHidden}},
			mapping{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{VisionHidden, VisionFFN}},
		)
	}),
	keys: func(k *keys) {
		vision(k, "qwen2vl_merger")
		k.putArch("vision.embedding_length", uint32(k.c.width()))
		k.u32("vision.feed_forward_length", "hidden_size") // as the converter states it
		k.epsilon(k.c.full.Get("rms_norm_eps"), 1e-6)
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"visual."}},
}

var qwen25vlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Qwen2_5_VLForConditionalGeneration"},
	defaults: []preset{
		{"in_channels", "3"}, {"image_size", "560"}, {"patch_size", "14"}, {"depth", "32"}, {"hidden_size", "3584"}, {"intermediate_size", "3420"},
		{"num_heads", "16"}, {"spatial_merge_size", "2"}, {"text hidden_size", "8192"}, {"fullatt_block_indexes", "[7, 15, 23, 31]"},
	},
	outer: qwenVision, layer: "visual.blocks.#.",
	layers: lazy(func() []mapping {
		return qwenBlocks(
			mapping{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, VisionHidden}},
			mapping{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, VisionHidden}},
			mapping{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{VisionHidden, FFN}},
		)
	}),
	keys: qwen25vlKeys, vocab: noVocab,

	vision: visionPart{keep: []string{"visual."}},
}

// qwen25vlKeys say after how many layers one sees all of an image.
func qwen25vlKeys(k *keys) {
	vision(k, "qwen2.5vl_merger")
	k.put("clip.use_silu", true)
	k.epsilon(k.c.full.Get("rms_norm_eps"), 1e-6)
	list := k.c.get("fullatt_block_indexes")
	before, every := int64(-1), int64(0)
	for i, v := range list.List() {
		n, ok := v.Int()
		if i == 0 {
			every = n + 1
		}
		if !ok || n < 0 || n > maxLayers || n-before != every {
			k.fail("fullatt_block_indexes", list, "a list of layers at equal distances")
			return
		}
		before = n
	}
	if every == 0 {
		k.fail("fullatt_block_indexes", list, "a list of layers")
		return
	}
	k.putArch("vision.n_wa_pattern", uint32(every))
}

var qwen2vlRow = &row{
	arch: "qwen2vl", model: "qwen2_vl", names: []string{"Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration", "Qwen2VLModel"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.sections()
	}, vocab: spmOrBytes,

	back: backward{row: qwen2Row, members: visionText(qwen2Back)},
}
