package family

var olmoeRow = &row{
	arch: "olmoe", model: "olmoe", names: []string{"OlmoeForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"num_experts", "64"}, {"num_experts_per_tok", "8"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, ffnNorm), allHeadNorms...)...)
	}),
	keys: olmoeKeys, vocab: gpt2Vocab,

	back: backward{members: olmoeBack},
}

// olmoeKeys adds the converter's epsilon, whatever the model's is.
func olmoeKeys(k *keys) {
	common(k)
	k.putArch("attention.layer_norm_rms_epsilon", float32(1e-5))
}

var olmo3Row = &row{
	arch: "olmo2", model: "olmo3", names: []string{"Olmo3ForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"sliding_window", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return olmo2Row.layers()
	}),
	keys: func(k *keys) {
		common(k)
		windowKeys(k, 4)
	}, vocab: gpt2Vocab,

	back: backward{members: olmo3Back, matches: func(s *settings) bool { return s.hasWindow("olmo2") }},
}

var olmo2Row = &row{
	arch: "olmo2", model: "olmo2", names: []string{"Olmo2ForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder(mlp...)[1:],
			mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			mapping{hf: "post_feedforward_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
			allHeadNorms[0], allHeadNorms[1],
		)
	}),
	keys: common, vocab: gpt2Vocab,

	back: backward{members: olmo2Back, matches: func(s *settings) bool { return !s.hasWindow("olmo2") }},
}

// olmoRow: norms without weights.
var olmoRow = &row{
	arch: "olmo", model: "olmo", names: []string{"OlmoForCausalLM", "OLMoForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    []mapping{outer[0], outer[2]}, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(mlp...))[1:]
	}),
	keys: olmoKeys, vocab: gpt2Vocab,

	mlx: mlxRow{none: "mlx-lm has the names of the first OLMo"}, back: backward{members: olmoBack},
}

func olmoKeys(k *keys) {
	common(k)
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.putArch("attention.layer_norm_epsilon", float32(1e-5))
	if k.c.get("clip_qkv").There {
		k.f32("attention.clamp_kqv", "clip_qkv")
	}
}

func olmo2Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}

func olmo3Back(s *settings) {
	olmo2Back(s)
	if f, ok := number(s.keys["olmo2.rope.freq_base"]); ok {
		s.expect("rope.freq_base_swa", f)
	}
	s.window(0)
	s.layerTypes(4)
}

func olmoeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.put("norm_topk_prob", "false") // as in llama.cpp
	s.put("hidden_act", `"silu"`)
}

func olmoBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.expect("attention.layer_norm_epsilon", float64(float32(1e-5)))
	if !s.optionalFloat("clip_qkv", "attention.clamp_kqv") {
		s.put("clip_qkv", "null")
	}
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}
