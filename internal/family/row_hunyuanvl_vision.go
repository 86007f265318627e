package family

// hunyuanvlProjector: the vision part of Hunyuan-OCR, with two convolutions that merge patches.
var hunyuanvlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"HunYuanVLForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "16"}, {"spatial_merge_size", "2"}, {"max_image_size", "2048"}, {"text hidden_size", "3072"}},
	outer: []mapping{
		{hf: "vit.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "vit.embeddings.position_embedding", shape: dims{func(c *config) int64 { return hunyuanPatches(c) + 1 }, Hidden}, views: []view{{ // without that of the class
			gguf:    "v.position_embd",
			shape:   func(c *config) []int64 { return []int64{hunyuanPatches(c), c.hidden()} },
			strides: func(c *config) ([]int64, int64) { return []int64{c.hidden(), 1}, c.hidden() },
		}}},
		{hf: "vit.perceive.before_rms", gguf: "mm.pre_norm", shape: dims{Hidden}},
		{hf: "vit.perceive.proj.0", gguf: "mm.0", shape: dims{Hidden2, Hidden, (*config).merge, (*config).merge}, typeRule: asHalf, bias: "mm.0"},
		{hf: "vit.perceive.proj.2", gguf: "mm.2", shape: dims{soundFour, Hidden2, One, One}, typeRule: asHalf, bias: "mm.2"},
		{hf: "vit.perceive.mlp", gguf: "mm.model.fc", shape: dims{TextHidden, soundFour}},
		{hf: "vit.perceive.after_rms", gguf: "mm.post_norm", shape: dims{TextHidden}},
		{hf: "vit.perceive.image_newline", gguf: "v.image_newline", shape: dims{soundFour}, noSuffix: true, ggufNoSuffix: true},
		{hf: "vit.perceive.image_begin", gguf: "mm.image_begin", shape: dims{TextHidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "vit.perceive.image_end", gguf: "mm.image_end", shape: dims{TextHidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "vit.perceive.image_sep", gguf: "v.view_seperator", shape: dims{TextHidden}, noSuffix: true, ggufNoSuffix: true},
	},
	layer: "vit.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "ln1", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.o_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "post_attention_layernorm", gguf: "ln2", shape: dims{Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "hunyuanvl")
		k.u32("vision.image_size", "image_size", "max_image_size")
		k.put("clip.use_gelu", true)
		k.epsilon(k.c.get("rms_norm_eps"), 1e-5)
		k.putArch("vision.spatial_merge_size", uint32(k.c.merge()))
		k.pixels()
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"vit."}},
}

// hunyuanPatches is the number of patches of the largest image.
func hunyuanPatches(c *config) int64 {
	side := c.int("max_image_size") / max(1, c.patch())
	if side > 1<<16 {
		return 0 // no tensor has this shape
	}
	return side * side
}
