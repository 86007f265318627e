package family

// kimivlRow: the text models of Kimi-VL and Kimi K2.5, which are DeepSeek V3, where text_config does
// not state that class itself.
var kimivlRow = &row{
	arch: "deepseek2", model: "kimi_vl", names: []string{"KimiVLForConditionalGeneration", "KimiK25ForConditionalGeneration"},
	defaults: deepseek3Row.defaults, outer: outer, layer: decoderLayer, layers: deepseek3Row.layers,
	keys: deepseekKeys, vocab: deepseekVocab,

	ahead: ahead{dropped: true}, mlx: mlxRow{none: notCompared},
}

// kimivlProjector: MoonViT, the vision part of Kimi-VL.
var kimivlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"KimiVLForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "896"}, {"init_pos_emb_height", "64"}, {"init_pos_emb_width", "64"}, {"text hidden_size", "2048"}},
	outer: []mapping{
		{hf: "vision_tower.patch_embed.proj", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "vision_tower.patch_embed.pos_emb", shape: dims{memberSize("init_pos_emb_height"), memberSize("init_pos_emb_width"), Hidden}, views: []view{{
			gguf: "v.position_embd",
			shape: func(c *config) []int64 {
				return []int64{c.int("init_pos_emb_height") * c.int("init_pos_emb_width"), c.hidden()}
			},
			strides: func(c *config) ([]int64, int64) { return []int64{c.hidden(), 1}, 0 },
		}}},
		{hf: "vision_tower.encoder.final_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "multi_modal_projector.pre_norm", gguf: "mm.input_norm", shape: dims{Hidden}},
		{hf: "multi_modal_projector.linear_1", gguf: "mm.1", shape: dims{kimiMerged, kimiMerged}},
		{hf: "multi_modal_projector.linear_2", gguf: "mm.2", shape: dims{TextHidden, kimiMerged}},
	},
	layer: "vision_tower.encoder.blocks.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "norm0", gguf: "ln1", shape: dims{Hidden}},
			{hf: "norm1", gguf: "ln2", shape: dims{Hidden}},
			{hf: "wqkv", shape: dims{Hidden3, Hidden}, views: []view{third("attn_q", 0), third("attn_k", 1), third("attn_v", 2)}},
			{hf: "wo", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "mlp.fc0", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc1", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "kimivl")
		k.putArch("vision.image_size", uint32(64*14)) // as in the converter
		k.put("clip.use_gelu", true)
		k.putArch("vision.projector.scale_factor", uint32(2))
		k.epsilon(k.c.get("layer_norm_eps"), 1e-5)
	}, vocab: noVocab,

	vision: visionPart{keep: towerAlone},
}

// kimiMerged is the width of the four patches that become one token.
func kimiMerged(c *config) int64 { return 4 * c.hidden() }
