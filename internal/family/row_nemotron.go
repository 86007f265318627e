package family

// nemotronRow: the weights of norms are stored minus one, and the feed-forward layer has
// no gate.
var nemotronRow = &row{
	arch: "nemotron", model: "nemotron", names: []string{"NemotronForCausalLM"},
	defaults: []preset{{"vocab_size", "256000"}, {"norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    storedMinusOne(with(outer)), layer: decoderLayer,
	layers: lazy(func() []mapping {
		return storedMinusOne(decoder(with(mlp[1:], ffnNorm)...))
	}),
	biased: []string{"attn_norm", "ffn_norm", "output_norm"},
	keys:   nemotronKeys, vocab: nemotronVocab,

	back: backward{members: nemotronBack},
}

func nemotronKeys(k *keys) {
	common(k)
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.u32("vocab_size", "vocab_size")
	k.f32("attention.layer_norm_epsilon", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.hidden(), 0.5)/k.c.heads()))
	if factor := k.c.rope().params.Get("factor"); factor.There {
		k.putArch("rope.scaling.type", "linear")
		k.number("rope.scaling.factor", "factor", factor)
		return
	}
	k.putArch("rope.scaling.type", "none")
}

func nemotronVocab(k *keys) error {
	err := spmVocab(k)
	k.put("tokenizer.ggml.padding_token_id", uint32(0))
	k.put("tokenizer.ggml.unknown_token_id", uint32(1))
	return err
}

func nemotronBack(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	s.optionalFloat("norm_eps", "attention.layer_norm_epsilon")
	s.biases("attention_bias", s.layers(), projections...)
	s.biases("mlp_bias", s.layers(), feed[1:]...)
	s.biases("", s.layers(), "attn_norm", "ffn_norm")
	s.put("hidden_act", `"relu2"`)
}
