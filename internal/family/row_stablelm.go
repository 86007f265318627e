package family

var stablelmRow = &row{
	arch: "stablelm", model: "stablelm", names: []string{"StableLmForCausalLM", "StableLMEpochForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"partial_rotary_factor", "0.25"}, {"use_parallel_residual", "false"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, mapping{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}, inLayer: isSequential})...)
	}),
	biased: []string{"attn_norm", "output_norm"},
	keys:   stablelmKeys, vocab: gpt2Vocab,

	back: backward{members: stablelmBack},
}

func isSequential(c *config, _ int64) bool { return !c.bool("use_parallel_residual", false) }

func stablelmKeys(k *keys) {
	k.u32("context_length", "max_position_embeddings")
	k.u32("embedding_length", "hidden_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.hidden()/k.c.heads(), 0.25)))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.putArch("use_parallel_residual", k.c.bool("use_parallel_residual", true))
	k.f32("attention.layer_norm_epsilon", "layer_norm_eps", "norm_eps")
	if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
		k.fail("rope_theta", k.c.rope().theta, "10000, as llama.cpp assumes for StableLM")
	}
}

func stablelmBack(s *settings) {
	_, _, head := s.common()
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.partialRotary(head)
	s.parallelResidual()
	s.biases("use_qkv_bias", s.layers(), projections[:3]...)
	s.biases("", s.layers(), "attn_norm")
	s.put("qk_layernorm", "false")
	s.put("hidden_act", `"silu"`)
}
