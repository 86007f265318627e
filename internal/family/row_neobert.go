package family

// neobertRow: NeoBERT, an encoder with rotary embeddings and gates.
var neobertRow = &row{
	arch: "neo-bert", model: "neobert", names: []string{"NeoBERT", "NeoBERTLMHead", "NeoBERTForSequenceClassification"},
	defaults: []preset{{"vocab_size", "30522"}, {"norm_eps", "1e-06"}, {"max_length", "1024"}},
	outer: with([]mapping{
		{hf: "encoder", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "layer_norm", gguf: "enc.output_norm", shape: dims{Hidden}},
		{hf: "dense", gguf: "cls", shape: dims{Hidden, Hidden}, inLayer: classifies},
	}, bertHead...),
	layer: "transformer_encoder.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attention_norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "qkv", gguf: "attn_qkv", shape: dims{Hidden3, Hidden}},
			{hf: "wo", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "ffn_norm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "ffn.w12", gguf: "ffn_up", shape: dims{double(neobertFFN), Hidden}},
			{hf: "ffn.w3", gguf: "ffn_down", shape: dims{Hidden, neobertFFN}},
		}
	}),
	keys: func(k *keys) {
		bertKeys(k)
		k.putArch("feed_forward_length", uint32(neobertFFN(k.c)))
		k.putArch("rope.freq_base", float32(10000))
		k.putArch("rope.scaling.type", "none")
		k.f32("attention.layer_norm_rms_epsilon", "norm_eps")
		k.putArch("pooling_type", uint32(2)) // the first token, as the model's card says
	}, vocab: bertVocab,

	naming: naming{trimPrefixes: []string{"model."}, skipPrefixes: []string{"decoder."}}, classifier: classifier{heads: []string{"dense."}}, mlx: mlxRow{none: apartBERT},
}

// neobertFFN is the width of the gates: two thirds of the stated width.
func neobertFFN(c *config) int64 { return 2 * c.int("intermediate_size") / 3 }
