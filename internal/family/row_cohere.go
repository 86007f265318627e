package family

// cohereRow: layers have one norm, and the head is the token embedding.
var cohereRow = &row{
	arch: "command-r", model: "cohere", names: []string{"CohereForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "256000"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}, {"logit_scale", "0.0625"}, {"rope_theta", "10000"}},
	outer:    outer[:2], layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(mlp...)
	}),
	keys: cohereKeys, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{"lm_head.weight"}}, back: backward{members: cohereBack},
}

func cohereKeys(k *keys) {
	common(k)
	k.u32("context_length", "model_max_length", "max_position_embeddings")
	k.f32("logit_scale", "logit_scale")
	k.putArch("rope.scaling.type", "none")
}

var cohere2Row = &row{
	arch: "cohere2", model: "cohere2", names: []string{"Cohere2ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "256000"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}, {"logit_scale", "0.0625"}, {"sliding_window", "4096"}, {"rope_theta", "10000"}},
	outer:    outer[:2], layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(mlp...)
	}),
	keys: cohere2Keys, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{"lm_head.weight"}}, back: backward{members: cohere2Back},
}

func cohere2Keys(k *keys) {
	common(k)
	k.f32("logit_scale", "logit_scale")
	k.u32("attention.sliding_window", "sliding_window")
	k.u32("vocab_size", "vocab_size")
	part, ok := k.c.get("rotary_pct").Float()
	if !ok || !(part > 0 && part <= 1) {
		k.fail("rotary_pct", k.c.get("rotary_pct"), "above 0 and at most 1")
		return
	}
	k.putArch("rope.dimension_count", uint32(part*float64(k.c.hidden()/k.c.heads())))
	k.putArch("rope.scaling.type", "none")
}

// cohere2Back puts the members of Cohere 2: layers with rotary embeddings and a window,
// and one in four with neither.
func cohere2Back(s *settings) {
	hidden, heads, _ := s.common()
	turning, ok := s.int("rope.dimension_count")
	if !ok || heads < 1 || turning < 1 || turning > hidden/heads {
		s.fail("cohere2.rope.dimension_count", "its value is %d, for a width of %d and %d heads", turning, hidden, heads)
		return
	}
	s.rotations(turning)
	s.put("rotary_pct", float64JSON(float64(turning)/float64(hidden/heads)))
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.optionalFloat("logit_scale", "logit_scale")
	s.window(0)
	s.layerTypes(4)
	s.biased("attention_bias", projections...)
	s.put("use_qk_norm", "false")
	s.put("hidden_act", `"silu"`)
}

func cohereBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.optionalFloat("logit_scale", "logit_scale")
	s.biases("attention_bias", s.layers(), projections...)
	s.put("use_qk_norm", "false")
	s.put("hidden_act", `"silu"`)
}
