package family

// minimax3Projector: CLIP with rotary embeddings in three directions, the vision part of MiniMax M3.
var minimax3Projector = &row{
	arch: "clip", prefix: "v.", names: []string{"MiniMaxM3SparseForConditionalGeneration", "MiniMaxM3VLForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"text hidden_size", "3072"}},
	outer: []mapping{
		{hf: "vision_tower.vision_model.embeddings.patch_embedding", shape: dims{Hidden, Channels, Frames, Patch, Patch}, typeRule: asHalf, views: []view{frames("v.patch_embd", 0), frames("v.patch_embd.weight.1", 1)}},
		{hf: "vision_tower.vision_model.pre_layrnorm", gguf: "v.pre_ln", shape: dims{Hidden}},
		{hf: "multi_modal_projector.linear_1", gguf: "mm.1", shape: dims{minimaxProjected, Hidden}},
		{hf: "multi_modal_projector.linear_2", gguf: "mm.2", shape: dims{TextHidden, minimaxProjected}},
		{hf: "patch_merge_mlp.linear_1", gguf: "mm.merger.fc1", shape: dims{minimaxProjected, minimaxMerged}},
		{hf: "patch_merge_mlp.linear_2", gguf: "mm.merger.fc2", shape: dims{TextHidden, minimaxProjected}},
	},
	layer: "vision_tower.vision_model.encoder.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "layer_norm1", gguf: "ln1", shape: dims{Hidden}},
			{hf: "layer_norm2", gguf: "ln2", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", shape: dims{Hidden, Hidden}, views: []view{rowsOf("attn_q", threeAxes)}},
			{hf: "self_attn.k_proj", shape: dims{Hidden, Hidden}, views: []view{rowsOf("attn_k", threeAxes)}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.out_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "minimax_m3")
		k.put("clip.use_gelu", true)
		k.epsilon(k.c.get("layer_norm_eps"), 1e-5)
		merge := int64(2)
		if n := sizeIn(k.c.get("img_token_compression_config"), "spatial_merge_size"); n > 0 {
			merge = n
		}
		k.putArch("vision.spatial_merge_size", uint32(merge))
		if k.c.headDim() != 80 {
			k.fail("num_attention_heads", k.c.get("num_attention_heads"), "a number that gives heads of 80, as llama.cpp's converter assumes")
		}
	}, vocab: noVocab,

	naming: naming{asked: []string{"multi_modal_projector.linear_1.weight"}},
	vision: visionPart{keep: []string{"vision_tower.", "multi_modal_projector.", "patch_merge_mlp."}},
}

// minimaxProjected is the width between the two matrices of the projector, minimaxMerged that of the patches that
// become one token.
func minimaxProjected(c *config) int64 {
	if n := sizeIn(c.full, "projector_hidden_size"); n > 0 {
		return n
	}
	return c.textWidth()
}

func minimaxMerged(c *config) int64 {
	n := sizeIn(c.get("img_token_compression_config"), "spatial_merge_size")
	if n < 1 || n > 64 {
		n = 2
	}
	return n * n * c.textWidth()
}

// threeAxes returns the rows of all heads: both parts of time, then both of height, then both of width.
func threeAxes(c *config) (list []cut) {
	head := c.headDim()
	part := head / 2 * 2 / 3 / 2
	half := 3 * part
	for h := range c.heads() {
		at := h * head
		for _, first := range []int64{0, half, part, half + part, 2 * part, half + 2*part} {
			list = append(list, cut{first: at + first, rows: part})
		}
		if rest := head - 2*half; rest > 0 {
			list = append(list, cut{first: at + 2*half, rows: rest})
		}
	}
	return list
}
