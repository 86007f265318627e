package family

// eurobertRow: Llama with bidirectional attention.
var eurobertRow = &row{
	arch: "eurobert", model: "eurobert", names: []string{"EuroBertModel", "JinaEmbeddingsV5Model"},
	defaults: []preset{{"vocab_size", "128256"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}},
	outer:    outer[:2], layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("attention.causal", false)
		k.putArch("rope.scaling.type", "none")
		if err := k.poolingType(); err != nil && k.err == nil {
			k.err = err
		}
		if n, ok := pooledBy[k.c.get("classifier_pooling").String()]; ok && n < 3 { // of any other kind the converter writes no file
			k.putArch("classifier.pooling_type", n)
		}
		if r := k.c.rope(); !r.theta.There {
			k.fail("rope_theta", r.theta, "the one known value")
		}
		k.requireMember("hidden_act", "silu")
		for _, m := range []string{"attention_bias", "mlp_bias"} {
			k.requireMember(m, "false")
		}
	}, vocab: func(k *keys) error {
		k.put("tokenizer.ggml.add_bos_token", false)
		return gpt2Vocab(k)
	},

	naming: naming{optionalPrefix: "model."}, mlx: mlxRow{none: apartBERT}, back: backward{members: eurobertBack},
}

func eurobertBack(s *settings) {
	hidden, heads := s.statedMembers()
	s.putInt("vocab_size", s.rows("token_embd.weight"))
	head := hidden / max(1, heads)
	s.expect("attention.key_length", float64(head))
	s.expect("attention.value_length", float64(head))
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type") // see lostPooling
	s.rotations(head)
	if n, ok := s.int("classifier.pooling_type"); ok {
		kinds := map[int64]string{1: `"mean"`, 2: `"cls"`}
		if kinds[n] == "" {
			s.fail("eurobert.classifier.pooling_type", "its value is %d", n)
		}
		s.put("classifier_pooling", kinds[n])
	}
	s.put("hidden_act", `"silu"`)
}
