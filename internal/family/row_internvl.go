package family

// internvlProjector: InternVL's vision part, whose configuration states a class of its own.
var internvlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"InternVisionModel"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "448"}, {"layer_norm_eps", "1e-06"}, {"hidden_act", `"gelu"`}},
	outer: []mapping{
		{hf: "vision_model.embeddings.class_embedding", gguf: "v.class_embd", shape: dims{One, One, Hidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "vision_model.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "vision_model.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{One, internPositions, Hidden}, noSuffix: true, typeRule: alwaysF32},
		{hf: "mlp1.0", gguf: "mm.model.mlp.0", shape: dims{internMerged}},
		{hf: "mlp1.1", gguf: "mm.model.mlp.1", shape: dims{TextHidden, internMerged}},
		{hf: "mlp1.3", gguf: "mm.model.mlp.3", shape: dims{TextHidden, TextHidden}},
	},
	layer: "vision_model.encoder.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "norm1", gguf: "ln1", shape: dims{Hidden}},
			{hf: "norm2", gguf: "ln2", shape: dims{Hidden}},
			{hf: "attn.qkv", shape: dims{Hidden3, Hidden}, views: []view{third("attn_q", 0), third("attn_k", 1), third("attn_v", 2)}},
			{hf: "attn.proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "attn.q_norm", gguf: "attn_q_norm", shape: dims{Hidden}, inLayer: internNorms},
			{hf: "attn.k_norm", gguf: "attn_k_norm", shape: dims{Hidden}, inLayer: internNorms},
			{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
			{hf: "ls1", gguf: "ls1", shape: dims{Hidden}, noSuffix: true},
			{hf: "ls2", gguf: "ls2", shape: dims{Hidden}, noSuffix: true},
		}
	}),
	keys: func(k *keys) {
		vision(k, "internvl")
		k.f32("vision.attention.layer_norm_epsilon", "layer_norm_eps")
		k.activation()
		f, ok := k.c.full.Get("downsample_ratio").Float()
		if !ok || !(f > 0 && f <= 1) {
			k.fail("downsample_ratio", k.c.full.Get("downsample_ratio"), "above 0 and at most 1")
			return
		}
		k.putArch("vision.projector.scale_factor", uint32(1/f))
		for _, m := range [][2]string{{"min_dynamic_patch", "vision.preproc_min_tiles"}, {"max_dynamic_patch", "vision.preproc_max_tiles"}} {
			if n := sizeIn(k.c.full, m[0]); n > 0 {
				k.putArch(m[1], uint32(n))
			}
		}
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"vision_model.", "mlp1."}},
}

func internNorms(c *config, _ int64) bool { return c.bool("qk_normalization", false) }

// internPositions has one position more than there are patches, for the class.
func internPositions(c *config) int64 { return Patches(c) + 1 }

// internMerged is the width of the patches that become one token.
func internMerged(c *config) int64 {
	f, ok := c.full.Get("downsample_ratio").Float()
	if !ok || !(f > 0.01 && f <= 1) {
		return 0 // no tensor has this shape
	}
	side := int64(1 / f)
	return side * side * c.hidden()
}

// activation adds which function a vision part has between its matrices.
func (k *keys) activation() {
	switch act := k.c.get("hidden_act"); act.String() {
	case "silu":
		k.put("clip.use_silu", true)
	case "gelu":
		k.put("clip.use_gelu", true)
	default:
		k.fail("hidden_act", act, "silu or gelu")
	}
}
