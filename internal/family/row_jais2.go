package family

// jais2Row: LayerNorm, biases, and no gate.
var jais2Row = &row{
	arch: "jais2", model: "jais2", names: []string{"Jais2ForCausalLM"},
	defaults: []preset{{"vocab_size", "150272"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp[1:], ffnNorm)...)
	}),
	biased: []string{"attn_norm", "attn_output", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys: func(k *keys) {
		common(k)
		k.putArch("rope.dimension_count", uint32(k.c.headDim()))
		k.requireMember("hidden_act", "relu2")
		for _, m := range []string{"attention_bias", "mlp_bias"} {
			k.requireMember(m, "true")
		}
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: func(s *settings) {
		_, _, head := s.common()
		s.rotations(head)
		s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
		s.biases("", s.layers(), "attn_norm", "ffn_norm")
		s.biases("attention_bias", s.layers(), projections...)
		s.biases("mlp_bias", s.layers(), feed[1:]...)
		s.put("hidden_act", `"relu2"`)
	}},
}
