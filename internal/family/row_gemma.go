package family

// scale puts query_pre_attn_scalar, the width of a head. llama.cpp knows the largest model
// by its number of layers.
func (s *settings) scale(hidden, heads, head, largest int64) {
	if s.layers() == largest && heads > 0 {
		head = hidden / heads
	}
	s.putInt("query_pre_attn_scalar", head)
}

var gemmaOuter = storedMinusOne([]mapping{
	{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
	{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
})

// gemmaSkip: Gemma's head is the token embedding, which some quantizers store twice.
var gemmaSkip = []string{"lm_head.weight"}

var gemmaRow = &row{
	arch: "gemma", model: "gemma", names: []string{"GemmaForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "256000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "8192"}, {"head_dim", "256"}},
	outer:    gemmaOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return storedMinusOne(decoder(with(mlp, ffnNorm)...))
	}),
	keys: gemmaKeys, vocab: gemmaVocab,

	naming: naming{skipSuffixes: gemmaSkip}, back: backward{members: gemmaBack},
}

var gemma2Row = &row{
	arch: "gemma2", model: "gemma2", names: []string{"Gemma2ForCausalLM"}, tied: true,
	defaults: []preset{
		{"vocab_size", "256000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "8192"}, {"head_dim", "256"},
		{"attn_logit_softcapping", "50"}, {"final_logit_softcapping", "30"}, {"sliding_window", "4096"},
	},
	outer: gemmaOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return storedMinusOne(decoder(with(mlp, sandwichNorms...)...))
	}),
	keys: gemma2Keys, vocab: spmNoPrefix,

	naming: naming{skipSuffixes: gemmaSkip}, back: backward{members: gemma2Back},
}

var gemma3Row = &row{
	arch: "gemma3", model: "gemma3_text", names: []string{"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"}, tied: true,
	defaults: []preset{
		{"vocab_size", "262208"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "131072"}, {"head_dim", "256"}, {"sliding_window", "4096"},
		{"num_key_value_heads", "4"}, {"num_attention_heads", "8"}, {"rope_theta", "1000000"}, {"rope_local_base_freq", "10000"},
	},
	outer: gemmaOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return storedMinusOne(decoder(with(with(mlp, sandwichNorms...), headNorms...)...))
	}),
	keys: gemma3Keys, vocab: gemma3Vocab,

	back: backward{members: gemma3Back},
}

// embeddingGemmaRow: bidirectional attention. The dense layers of sentence-transformers
// are not written, as in the converter.
var embeddingGemmaRow = &row{
	arch: "gemma-embedding", model: "gemma3_text", names: []string{"Gemma3TextModel"}, tied: true,
	defaults: gemma3Row.defaults, outer: gemmaOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return gemma3Row.layers()
	}),
	keys: func(k *keys) {
		gemma3Keys(k)
		k.u32("attention.sliding_window", "sliding_window")
		if err := k.pooling(); err != nil && k.err == nil {
			k.err = err
		}
	}, vocab: gemma3Vocab,

	naming: naming{bare: true, optionalPrefix: "model."}, mlx: mlxRow{none: apartBERT}, back: backward{left: "the dense layers of sentence-transformers", members: embeddingGemmaBack},
}

func gemmaKeys(k *keys) {
	k.putArch("context_length", uint32(0))
	k.u32("context_length", "max_position_embeddings")
	k.u32("embedding_length", "hidden_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	k.putArch("attention.key_length", uint32(k.c.headDim()))
	k.putArch("attention.value_length", uint32(k.c.headDim()))
}

func gemma2Keys(k *keys) {
	gemmaKeys(k)
	k.f32("attn_logit_softcapping", "attn_logit_softcapping")
	k.f32("final_logit_softcapping", "final_logit_softcapping")
	k.u32("attention.sliding_window", "sliding_window")
}

func gemma3Keys(k *keys) {
	common(k)
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	if v := k.c.get("attn_logit_softcapping"); v.There {
		k.fail("attn_logit_softcapping", v, "absent, as it is in Gemma 3")
	}
	if f, ok := k.c.get("final_logit_softcapping").Float(); ok && f != 0 {
		k.f32("final_logit_softcapping", "final_logit_softcapping")
	}
	if n, ok := k.c.get("sliding_window_pattern").Int(); !ok || n != 1 {
		k.u32("attention.sliding_window", "sliding_window")
	}
}

// gemmaVocab adds the token that ends a turn in CodeGemma for every Gemma, as the
// converter does.
func gemmaVocab(k *keys) error {
	err := spmNoPrefix(k)
	k.put("tokenizer.ggml.eot_token_id", uint32(107))
	return err
}

func spmNoPrefix(k *keys) error {
	err := spmVocab(k)
	k.put("tokenizer.ggml.add_space_prefix", false)
	return err
}

func gemma3Vocab(k *keys) error {
	if k.has("tokenizer.model") {
		return spmNoPrefix(k)
	}
	return gpt2Vocab(k)
}

var gemma3Projector = &row{
	arch: "clip", prefix: "v.", model: "siglip_vision_model", names: []string{"Gemma3ForConditionalGeneration"},
	defaults: []preset{
		{"num_channels", "3"}, {"image_size", "224"}, {"patch_size", "16"}, {"hidden_size", "768"}, {"intermediate_size", "3072"}, {"num_hidden_layers", "12"},
		{"num_attention_heads", "12"}, {"text hidden_size", "2304"},
	},

	outer: []mapping{
		{hf: "embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: alwaysF32},
		{hf: "embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, Hidden}},
		{hf: "post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "multi_modal_projector.mm_input_projection_weight", gguf: "mm.input_projection", shape: dims{Hidden, TextHidden}, noSuffix: true, typeRule: alwaysF16},
		{hf: "multi_modal_projector.mm_soft_emb_norm", gguf: "mm.soft_emb_norm", shape: dims{Hidden}, op: addOne},
	},
	layer:  "encoder.layers.#.",
	layers: siglipLayers,
	keys:   gemma3ProjectorKeys, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"vision_tower.vision_model.", "vision_tower."}, skipPrefixes: []string{"head."}}, vision: visionPart{keep: towerAlone},
}

func gemma3ProjectorKeys(k *keys) {
	vision(k, "gemma3")
	k.epsilon(k.c.get("layer_norm_eps"), 1e-6)
	k.put("clip.use_gelu", true)
	tokens := int64(256)
	v, err := k.preprocessor("image_seq_length")
	if err != nil && k.err == nil {
		k.err = err
	}
	if v.There {
		var ok bool
		if tokens, ok = v.Int(); !ok || tokens < 1 || tokens > 1<<20 {
			k.fail("image_seq_length", v, "a number of tokens")
			return
		}
	}
	side := int64(1)
	for (side+1)*(side+1) <= tokens && side < 1<<10 {
		side++
	}
	if by := k.c.int("image_size") / k.c.patch() / side; by > 0 && by != 4 {
		k.putArch("vision.projector.scale_factor", uint32(by))
	}
}

func gemmaBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
}

func gemma2Back(s *settings) {
	hidden, heads, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.scale(hidden, heads, head, 46)
	s.window(4096)
	for _, m := range [][2]string{{"attn_logit_softcapping", "50.0"}, {"final_logit_softcapping", "30.0"}} {
		if !s.optionalFloat(m[0], m[0]) {
			s.put(m[0], m[1])
		}
	}
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
}

func gemma3Back(s *settings) {
	hidden, heads, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.scale(hidden, heads, head, 62)
	if n, ok := s.int("attention.sliding_window"); !ok || n == 0 {
		s.fail(s.row.arch+".attention.sliding_window", "there is none, but Gemma 3 of transformers has layers with one")
	}
	s.window(0)
	s.expect("attention.sliding_window_pattern", 6)
	s.put("sliding_window_pattern", "6")
	if !s.optionalFloat("rope_local_base_freq", "rope.freq_base_swa") {
		s.put("rope_local_base_freq", "10000.0")
	}
	s.put("attn_logit_softcapping", "null")
	if !s.optionalFloat("final_logit_softcapping", "final_logit_softcapping") {
		s.put("final_logit_softcapping", "null")
	}
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
}

// embeddingGemmaBack puts the members of EmbeddingGemma: Gemma 3's, with bidirectional
// attention.
func embeddingGemmaBack(s *settings) {
	gemma3Back(s)
	_, _ = s.key("pooling_type") // see lostPooling
	s.put("use_bidirectional_attention", "true")
}

// siglipLayers are those of SigLIP.
var siglipLayers = lazy(func() []mapping { return siglipLike("self_attn.out_proj", FFN) })

// siglipLike are layers as those of SigLIP, with a name of the output's matrix and a width of their
// own.
func siglipLike(output string, ffn size) []mapping {
	return []mapping{
		{hf: "layer_norm1", gguf: "ln1", shape: dims{Hidden}},
		{hf: "layer_norm2", gguf: "ln2", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
		{hf: output, gguf: "attn_out", shape: dims{Hidden, Hidden}},
		{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{ffn, Hidden}},
		{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, ffn}},
	}
}
