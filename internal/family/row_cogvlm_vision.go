package family

// cogvlmProjector: the vision part of CogVLM, EVA with a gate after it.
var cogvlmProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"CogVLMForCausalLM"},
	defaults: []preset{{"in_channels", "3"}, {"patch_size", "14"}, {"text hidden_size", "4096"}},
	outer: []mapping{
		{hf: "model.vision.patch_embedding.cls_embedding", gguf: "v.class_embd", shape: dims{One, Hidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "model.vision.patch_embedding.proj", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "model.vision.patch_embedding.position_embedding", gguf: "v.position_embd", shape: dims{internPositions, Hidden}},
		{hf: "model.vision.linear_proj.linear_proj", gguf: "mm.model.fc", shape: dims{TextHidden, Hidden}},
		{hf: "model.vision.linear_proj.norm1", gguf: "mm.post_fc_norm", shape: dims{TextHidden}},
		{hf: "model.vision.linear_proj.dense_h_to_4h", gguf: "mm.up", shape: dims{cogvlmWide, TextHidden}},
		{hf: "model.vision.linear_proj.gate_proj", gguf: "mm.gate", shape: dims{cogvlmWide, TextHidden}},
		{hf: "model.vision.linear_proj.dense_4h_to_h", gguf: "mm.down", shape: dims{TextHidden, cogvlmWide}},
		{hf: "model.vision.boi", gguf: "v.boi", shape: dims{One, One, TextHidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "model.vision.eoi", gguf: "v.eoi", shape: dims{One, One, TextHidden}, noSuffix: true, ggufNoSuffix: true},
	},
	layer: "model.vision.transformer.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "ln1", shape: dims{Hidden}},
			{hf: "attention.query_key_value", gguf: "attn_qkv", shape: dims{Hidden3, Hidden}},
			{hf: "attention.dense", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "post_attention_layernorm", gguf: "ln2", shape: dims{Hidden}},
			{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "cogvlm")
		k.epsilon(k.c.get("layer_norm_eps"), 1e-6)
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"model.vision."}},
}

// cogvlmWide is the width of the text model's feed-forward layers, which the part ends with.
func cogvlmWide(c *config) int64 { return sizeIn(c.full, "intermediate_size") }
