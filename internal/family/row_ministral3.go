package family

// isMinistral3 reports Ministral 3 among the models of llama.cpp's mistral3.
func (s *settings) isMinistral3() bool {
	_, log := s.keys["mistral3.rope.scaling.yarn_log_multiplier"]
	_, scale := s.keys["mistral3.attention.temperature_scale"]
	return log || scale
}

// ministral3Row: Llama with YaRN, and an attention temperature by position.
var ministral3Row = &row{
	arch: "mistral3", model: "ministral3", names: []string{"Ministral3ForCausalLM"},
	defaults: []preset{{"vocab_size", "131072"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "262144"}, {"head_dim", "128"}},
	outer:    outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return llamaRow.layers()
	}),
	keys: ministral3Keys, vocab: llamaVocab,

	back: backward{members: ministral3Back, matches: (*settings).isMinistral3},
}

func ministral3Keys(k *keys) {
	llamaKeys(k)
	r := k.c.rope()
	if r.kind != "yarn" {
		k.fail("rope_parameters", r.params, "of the type yarn")
	}
	k.number("rope.scaling.yarn_log_multiplier", "mscale_all_dim", r.params.Get("mscale_all_dim"))
	k.number("attention.temperature_scale", "llama_4_scaling_beta", r.params.Get("llama_4_scaling_beta"))
}

// ministral3Back puts the rotary embeddings, and the factors of attention in long texts.
func ministral3Back(s *settings) {
	_, _, head := s.common()
	s.expect("rope.dimension_count", float64(head))
	s.ropeBase()
	_, _ = s.key("rope.scaling.finetuned")
	if kind, _ := s.key("rope.scaling.type"); kind != "yarn" {
		s.fail("mistral3.rope.scaling.type", "its value is %s", valueText(kind))
		return
	}
	s.yarn()
	last := len(s.list) - 1
	if s.err != nil || s.list[last].name != "rope_scaling" {
		return
	}
	text := s.list[last].value
	text = text[:len(text)-1]
	if f, ok := s.float("rope.scaling.yarn_log_multiplier"); ok {
		text += `, "mscale": 1.0, "mscale_all_dim": ` + f // as in llama.cpp: for a scale of 1
	}
	if f, ok := s.float("attention.temperature_scale"); ok {
		text += `, "llama_4_scaling_beta": ` + f
	}
	s.list[last] = preset{"rope_parameters", text + "}"}
	s.biases("attention_bias", s.layers(), projections...)
	s.put("sliding_window", "null")
	s.put("hidden_act", `"silu"`)
}
