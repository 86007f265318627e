package family

// seedossRow: Llama with biases, whose queries and keys are not permuted.
var seedossRow = &row{
	arch: "seed_oss", model: "seed_oss", names: []string{"SeedOssForCausalLM"},
	defaults: []preset{{"vocab_size", "155136"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "524288"}, {"head_dim", "128"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}})...)
	}),
	keys: common, vocab: gpt2Vocab,

	back: backward{members: seedossBack},
}

func seedossBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.biases("attention_out_bias", s.layers(), projections[3:]...)
	s.biases("mlp_bias", s.layers(), feed...)
	s.put("hidden_act", `"silu"`)
	s.put("residual_dropout", "0.0")
}
