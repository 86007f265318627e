package family

// storedMinusOne marks norms whose weights are stored minus one, as in Gemma.
func storedMinusOne(list []mapping) []mapping {
	for i := range list {
		if len(list[i].shape) == 1 {
			list[i].op = addOne
		}
	}
	return list
}

var gemmaOuter = storedMinusOne([]mapping{
	{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
	{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
})

// sandwichNorms are norms before and after each half of a layer.
var sandwichNorms = []mapping{
	{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
	{hf: "pre_feedforward_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
	{hf: "post_feedforward_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
}

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
