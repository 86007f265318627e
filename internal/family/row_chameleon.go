package family

// chameleonRow: Chameleon, Llama with a LayerNorm over each head. llama.cpp has the norm of the first
// head for all, as they are the same in published models.
var chameleonRow = &row{
	arch: "chameleon", model: "chameleon", names: []string{"ChameleonForConditionalGeneration", "ChameleonForCausalLM"},
	defaults: []preset{{"vocab_size", "65536"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"rope_theta", "10000"}, {"num_key_value_heads", "32"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(permuted(decoder(with(mlp, ffnNorm)...)), []mapping{
			headNorm("self_attn.q_norm", "attn_q_norm", ".weight", Heads), headNorm("self_attn.q_norm", "attn_q_norm", ".bias", Heads),
			headNorm("self_attn.k_norm", "attn_k_norm", ".weight", (*config).kvHeads), headNorm("self_attn.k_norm", "attn_k_norm", ".bias", (*config).kvHeads),
		}...)
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("swin_norm", k.c.bool("swin_norm", false))
		if k.c.kvHeads() != k.c.heads() {
			k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of heads, as the converter asks")
		}
		if k.c.int("vocab_size") < chameleonImages {
			k.fail("vocab_size", k.c.get("vocab_size"), "at least the number of the last token of images, which llama.cpp never predicts")
		}
	}, vocab: gpt2Vocab,

	naming: naming{otherParts: []string{"model.vqmodel."}}, mlx: mlxRow{none: notCompared},
}

// chameleonImages is the number after that of the last token of images.
const chameleonImages = 4 + 8192

// headNorm is the first of the norms of all heads, in pairs, as often as there are heads.
func headNorm(hf, gguf, end string, heads size) mapping {
	return mapping{hf: hf + end, shape: dims{heads, Head}, noSuffix: true, views: []view{{
		gguf: gguf + end, repeat: heads, noSuffix: true,
		shape:       func(c *config) []int64 { return []int64{1, c.headDim()} },
		strides:     func(c *config) ([]int64, int64) { return []int64{c.headDim(), 1, c.headDim() / 2}, 0 },
		sourceShape: func(c *config) []int64 { return []int64{1, c.headDim() / 2, 2} },
	}}}
}
