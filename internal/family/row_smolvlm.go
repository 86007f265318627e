package family

// smolvlmRow: the text model of SmolVLM and Idefics 3, by the class that its text_config states.
var smolvlmRow = &row{
	arch: "llama", model: "llama", names: []string{"VLlama3ForCausalLM"},
	defaults: append(llamaRow.defaults[:len(llamaRow.defaults):len(llamaRow.defaults)], preset{"num_attention_heads", "32"}),
	outer:    outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{inner: []string{"text_model."}}, mlx: mlxRow{none: notCompared},
}

// smolvlmProjector: the vision part of SmolVLM and Idefics 3, which is SigLIP.
var smolvlmProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Idefics3ForConditionalGeneration", "SmolVLMForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "364"}, {"hidden_size", "1152"}, {"num_attention_heads", "16"}, {"intermediate_size", "3072"}, {"num_hidden_layers", "12"}, {"text hidden_size", "2048"}},
	outer: []mapping{
		{hf: "vision_model.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: alwaysF32},
		{hf: "vision_model.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, Hidden}},
		{hf: "vision_model.post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "connector.modality_projection.proj", gguf: "mm.model.fc", shape: dims{TextHidden, func(c *config) int64 { n := c.scaleFactor(); return n * n * c.hidden() }}},
	},
	layer: "vision_model.encoder.layers.#.", layers: siglipLayers,
	keys: func(k *keys) {
		vision(k, "idefics3")
		k.epsilon(k.c.get("layer_norm_eps"), 1e-5)
		k.putArch("vision.projector.scale_factor", uint32(k.c.scaleFactor()))
		k.put("clip.use_gelu", true)
		side := k.c.int("image_size")
		v, err := k.preprocessor("size")
		if err != nil && k.err == nil {
			k.err = err
		}
		if n, ok := v.Get("longest_edge").Int(); ok {
			side = n
		}
		if side < 1 || side > 1<<20 {
			k.fail("size", v, "a number of pixels")
			return
		}
		k.putArch("vision.preproc_image_size", uint32(side))
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"model.vision_model.", "model.connector."}},
}

// scaleFactor is how many patches of a side become one token.
func (c *config) scaleFactor() int64 {
	if n, ok := c.full.Get("scale_factor").Int(); ok && n > 0 && n <= 64 {
		return n
	}
	return 2
}
