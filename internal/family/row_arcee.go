package family

// arceeRow: the feed-forward layer has no gate.
var arceeRow = &row{
	arch: "arcee", model: "arcee", names: []string{"ArceeForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp[1:], ffnNorm)...))
	}),
	keys: llamaKeys, vocab: llamaVocab,

	mlx: mlxRow{none: "mlx-lm has no such model"}, back: backward{members: arceeBack},
}

func arceeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.biases("mlp_bias", s.layers(), feed[1:]...)
	s.put("hidden_act", `"relu2"`)
}
