package family

// dotsocrRow: the text model of dots.ocr, whose configuration is that of the whole model.
var dotsocrRow = &row{
	arch: "qwen2", model: "dots_ocr", names: []string{"DotsOCRForCausalLM"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	keys: qwenKeys, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared},
}

// dotsocrProjector: the vision part of dots.ocr.
var dotsocrProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"DotsOCRForCausalLM"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"spatial_merge_size", "2"}, {"text hidden_size", "1536"}},
	outer: []mapping{
		{hf: "vision_tower.patch_embed.patchifier.proj", gguf: "v.patch_embd", shape: dims{VisionHidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "vision_tower.patch_embed.patchifier.norm", gguf: "v.pre_ln", shape: dims{VisionHidden}},
		{hf: "vision_tower.post_trunk_norm", gguf: "mm.post_norm", shape: dims{VisionHidden}},
		{hf: "vision_tower.merger.ln_q", gguf: "mm.input_norm", shape: dims{VisionHidden}},
		{hf: "vision_tower.merger.mlp.0", gguf: "mm.0", shape: dims{Merged, Merged}},
		{hf: "vision_tower.merger.mlp.2", gguf: "mm.2", shape: dims{TextHidden, Merged}},
	},
	layer: "vision_tower.blocks.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "mlp.fc1", gguf: "ffn_gate", shape: dims{FFN, VisionHidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{VisionHidden, FFN}},
			{hf: "mlp.fc3", gguf: "ffn_up", shape: dims{FFN, VisionHidden}},
			visionAttention[0], visionAttention[1], visionAttention[2], visionAttention[3],
		}
	}),
	keys: func(k *keys) {
		vision(k, "dots_ocr")
		k.putArch("vision.embedding_length", uint32(k.c.width()))
		k.putArch("vision.image_size", uint32(0)) // as many pixels as there are
		k.pixels()
		k.f32("vision.attention.layer_norm_epsilon", "rms_norm_eps")
		k.u32("vision.projector.scale_factor", "spatial_merge_size")
		k.put("clip.use_silu", true)
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"vision_tower."}},
}

// pixels adds how many pixels an image may have, of which the preprocessor's configuration tells.
func (k *keys) pixels() {
	for _, m := range [][2]string{{"min_pixels", "vision.image_min_pixels"}, {"max_pixels", "vision.image_max_pixels"}} {
		v, err := k.preprocessor(m[0])
		if err != nil && k.err == nil {
			k.err = err
		}
		n, ok := v.Int()
		if !ok || n < 0 || n > 1<<31 {
			k.fail(m[0], v, "a number of pixels")
			return
		}
		k.putArch(m[1], uint32(n))
	}
}
