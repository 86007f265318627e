package family

// isMixture reports a file with experts: Llama's architecture is that of Mixtral too.
func (s *settings) isMixture() bool {
	n, _ := number(s.keys["llama.expert_count"])
	return n != 0
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

func mixtralBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.put("hidden_act", `"silu"`)
	s.put("sliding_window", "null")
}
