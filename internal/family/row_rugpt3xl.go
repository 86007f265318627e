package family

// rugpt3xlRow: ruGPT-3 XL, GPT-2 under Llama's names, whose queries, keys and values llama.cpp has in one matrix.
var rugpt3xlRow = &row{
	arch: "gpt2", model: "rugpt3xl", names: []string{"RuGPT3XLForCausalLM"},
	defaults: []preset{{"vocab_size", "50264"}, {"max_position_embeddings", "2048"}, {"layer_norm_eps", "1e-05"}},
	outer:    with(outer, mapping{hf: "model.embed_positions", gguf: "position_embd", shape: dims{Positions, Hidden}}),
	layer:    decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			mla()[0], ffnNorm,
			{hf: "self_attn.qkv.*", gguf: "attn_qkv", shape: dims{Hidden, Hidden}, op: stack, joined: true, of: Three},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	biased: gpt2Row.biased, keys: common, vocab: gpt2Vocab,

	naming: naming{numbered: []string{"self_attn.qkv."}, replaces: [][2]string{{"self_attn.q_proj.", "self_attn.qkv.0."}, {"self_attn.k_proj.", "self_attn.qkv.1."}, {"self_attn.v_proj.", "self_attn.qkv.2."}}},
	mlx:    mlxRow{none: notCompared},
}
