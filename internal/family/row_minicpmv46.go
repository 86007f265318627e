package family

import "cmp"

// minicpmv46Row: the text model of MiniCPM-V 4.6, which is Qwen 3.5. Layers that predict further
// tokens are left out, and not counted: llama.cpp would look for them.
var minicpmv46Row = &row{
	arch: "qwen35", model: "minicpmv4_6", names: []string{"MiniCPMV4_6ForConditionalGeneration"},
	defaults: qwen35Row.defaults, outer: qwen35Row.outer, layer: decoderLayer, layers: qwen35Row.layers,
	keys: qwen35Row.keys, vocab: gpt2Vocab,

	linear: true,
	naming: naming{otherParts: []string{"model.merger.", "mtp."}}, mlx: mlxRow{none: notCompared},
}

// minicpmv46Projector: the vision part of MiniCPM-V 4.6, SigLIP with a layer of windows in the middle that merges patches.
var minicpmv46Projector = &row{
	arch: "clip", prefix: "v.", names: []string{"MiniCPMV4_6ForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "980"}, {"layer_norm_eps", "1e-06"}, {"insert_layer_id", "6"}, {"text hidden_size", "1024"}},
	outer: []mapping{
		{hf: "model.vision_tower.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "model.vision_tower.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, Hidden}},
		{hf: "model.vision_tower.post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "model.vision_tower.vit_merger.layer_norm1", gguf: "v.vit_merger.ln1", shape: dims{Hidden}},
		{hf: "model.vision_tower.vit_merger.self_attn.q_proj", gguf: "v.vit_merger.attn_q", shape: dims{Hidden, Hidden}},
		{hf: "model.vision_tower.vit_merger.self_attn.k_proj", gguf: "v.vit_merger.attn_k", shape: dims{Hidden, Hidden}},
		{hf: "model.vision_tower.vit_merger.self_attn.v_proj", gguf: "v.vit_merger.attn_v", shape: dims{Hidden, Hidden}},
		{hf: "model.vision_tower.vit_merger.self_attn.out_proj", gguf: "v.vit_merger.attn_out", shape: dims{Hidden, Hidden}},
		{hf: "model.vision_tower.vit_merger.pre_norm", gguf: "v.vit_merger.ds_ln", shape: dims{soundFour}},
		{hf: "model.vision_tower.vit_merger.linear_1", gguf: "v.vit_merger.ds_ffn_up", shape: dims{double(double(FFN)), soundFour}},
		{hf: "model.vision_tower.vit_merger.linear_2", gguf: "v.vit_merger.ds_ffn_down", shape: dims{Hidden, double(double(FFN))}},
		{hf: "model.merger.mlp.0.pre_norm", gguf: "mm.input_norm", shape: dims{soundFour}},
		{hf: "model.merger.mlp.0.linear_1", gguf: "mm.up", shape: dims{soundFour, soundFour}},
		{hf: "model.merger.mlp.0.linear_2", gguf: "mm.down", shape: dims{TextHidden, soundFour}},
	},
	layer: "model.vision_tower.encoder.layers.#.", layers: siglipLayers,
	keys: func(k *keys) {
		c := k.c
		vision(k, "minicpmv4_6")
		v, err := k.preprocessor("scale_resolution")
		k.err = cmp.Or(k.err, err)
		if v.There {
			n, ok := v.Int()
			if !ok || n < 1 || n > 1<<20 {
				k.fail("scale_resolution", v, "a side in pixels")
				return
			}
			k.putArch("vision.image_size", uint32(n))
		}
		v, err = k.preprocessor("downsample_mode")
		k.err = cmp.Or(k.err, err)
		if v.There && v.String() != "16x" {
			k.fail("downsample_mode", v, "16x, the one that was compared")
		}
		k.putArch("vision.projector.scale_factor", uint32(4))
		after := c.int("insert_layer_id")
		if n, ok := c.full.Get("insert_layer_id").Int(); ok {
			after = n
		}
		if after < 0 || after >= c.layers() {
			k.fail("insert_layer_id", c.get("insert_layer_id"), "a layer of the vision part")
			return
		}
		k.putArch("vision.wa_layer_indexes", []int32{int32(after)})
		k.put("clip.use_gelu", true)
		k.epsilon(c.get("layer_norm_eps"), 1e-6)
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"model.vision_tower.", "model.merger."}},
}
