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

func llamaBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.biases("mlp_bias", s.layers(), feed...)
	s.put("hidden_act", `"silu"`)
}

func smollm3Back(s *settings) {
	llamaBack(s)
	s.put("no_rope_layer_interval", "4") // as in llama.cpp
	s.put("use_sliding_window", "false")
}
