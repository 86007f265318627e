package family

var llamaRow = &row{
	arch: "llama", model: "llama", names: []string{"LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM", "LlamaModel"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{headless: []string{"LlamaModel"}, optionalPrefix: "model."}, back: backward{matches: func(s *settings) bool { return !s.isMixture() }, members: llamaBack},
}

var smollm3Row = &row{
	arch: "smollm3", model: "smollm3", names: []string{"SmolLM3ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "128256"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "2000000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: smollm3Keys, vocab: llamaVocab,

	back: backward{members: smollm3Back},
}

// isMixture reports a file with experts: Llama's architecture is that of Mixtral too.
func (s *settings) isMixture() bool {
	n, _ := number(s.keys["llama.expert_count"])
	return n != 0
}

// llamaKeys adds the keys of LlamaModel in llama.py. Its configuration has the numbers of
// key heads and the head size even if they are not stated.
func llamaKeys(k *keys) {
	smollm3Keys(k)
	k.putArch("attention.key_length", uint32(k.c.headDim()))
	k.putArch("attention.value_length", uint32(k.c.headDim()))
}

// smollm3Keys adds a head size only if it is stated.
func smollm3Keys(k *keys) {
	common(k)
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.u32("vocab_size", "vocab_size")
	k.putArch("rope.dimension_count", uint32(k.c.headDim()))
}

var mixtralRow = &row{
	arch: "llama", model: "mixtral", names: []string{"MixtralForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"rope_theta", "1000000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(ffnNorm,
			mapping{hf: "block_sparse_moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			mapping{hf: "block_sparse_moe.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{FFN, Hidden}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, FFN}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.w3", gguf: "ffn_up_exps", shape: dims{FFN, Hidden}, op: stack},
		))
	}),
	keys: smollm3Keys, vocab: llamaVocab,

	back: backward{matches: (*settings).isMixture, members: mixtralBack},
}

var graniteRow = &row{
	arch: "granite", model: "granite", names: []string{"GraniteForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: graniteKeys, vocab: llamaVocab,

	mlx: mlxRow{eight: []string{"self_attn.o_proj", "mlp.down_proj", "lm_head"}}, back: backward{members: graniteBack, matches: func(s *settings) bool { return !s.isHybrid() }},
}

// graniteKeys adds Llama's keys and Granite's factors.
func graniteKeys(k *keys) {
	smollm3Keys(k)
	for _, m := range [][2]string{
		{"attention.scale", "attention_multiplier"}, {"embedding_scale", "embedding_multiplier"},
		{"residual_scale", "residual_multiplier"}, {"logit_scale", "logits_scaling"},
	} {
		if f, ok := k.c.get(m[1]).Float(); ok && f != 0 {
			k.f32(m[0], m[1])
		}
	}
}
