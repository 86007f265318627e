package family

import "github.com/anamnesis-go/anamnesis/internal/jsontree"

var phi3Row = &row{
	arch: "phi3", model: "phi3", names: []string{"Phi3ForCausalLM"},
	defaults: []preset{{"vocab_size", "32064"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"original_max_position_embeddings", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.qkv_proj", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			ffnNorm,
			{hf: "mlp.gate_up_proj", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: phi3Keys, vocab: phi3Vocab,

	attention: attention{factors: longFactors((*config).rotated)}, back: backward{factors: (*planner).readLongRope, consumed: longNames, members: phi3Back},
}

func phi3Keys(k *keys) {
	r := k.c.rope()
	if v := r.params.Get("long_factor"); v.There {
		original, _ := r.original.Int()
		f, ok := longFactor(r.kind, k.c.int("n_positions", "max_position_embeddings"), original)
		if !ok {
			k.fail("rope_scaling", r.params, "of a known type, with the original length")
		}
		k.putArch("rope.scaling.attn_factor", f)
	}
	k.u32("context_length", "n_positions", "max_position_embeddings")
	if n, ok := r.original.Int(); ok && n >= 0 && n < 1<<32 {
		k.putArch("rope.scaling.original_context_length", uint32(n))
	}
	k.u32("embedding_length", "hidden_size", "n_embd")
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	k.putArch("rope.dimension_count", uint32(k.c.rotated(r)))
	k.number("rope.freq_base", "rope_theta", r.theta)
	k.putArch("attention.sliding_window", uint32(0))
	k.u32("attention.sliding_window", "sliding_window")
}

// phi3Vocab adds a BPE of bytes for Phi-4, else sentencepiece's model with the added
// tokens of tokenizer.json.
func phi3Vocab(k *keys) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	if config.Get("tokenizer_class").String() == "GPT2Tokenizer" {
		return gpt2Vocab(k)
	}
	return k.spmKeys(true)
}

var olmo2Row = &row{
	arch: "olmo2", model: "olmo2", names: []string{"Olmo2ForCausalLM"},
	defaults: []preset{{"vocab_size", "50304"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder(mlp...)[1:],
			mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
			mapping{hf: "post_feedforward_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
			allHeadNorms[0], allHeadNorms[1],
		)
	}),
	keys: common, vocab: gpt2Vocab,

	back: backward{members: olmo2Back, matches: func(s *settings) bool { return !s.hasWindow("olmo2") }},
}

var starcoder2Row = &row{
	arch: "starcoder2", model: "starcoder2", names: []string{"Starcoder2ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "49152"}, {"norm_epsilon", "1e-05"}, {"max_position_embeddings", "4096"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(ffnNorm,
			mapping{hf: "mlp.c_fc", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			mapping{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		)
	}),
	biased: []string{"attn_norm", "attn_output", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys:   common, vocab: gpt2Vocab,

	back: backward{members: starcoder2Back},
}

var gpt2Row = &row{
	arch: "gpt2", model: "gpt2", names: []string{"GPT2LMHeadModel"}, tied: true,
	defaults: []preset{{"vocab_size", "50257"}, {"n_positions", "1024"}, {"n_ctx", "1024"}, {"layer_norm_epsilon", "1e-05"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.wpe", gguf: "position_embd", shape: dims{Positions, Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}, optional: true},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "ln_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.c_attn", gguf: "attn_qkv", shape: dims{Hidden, Hidden3}, op: transpose},
			{hf: "attn.c_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}, op: transpose},
			{hf: "ln_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.c_fc", gguf: "ffn_up", shape: dims{Hidden, FFN4}, op: transpose},
			{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{FFN4, Hidden}, op: transpose},
		}
	}),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys:   gpt2Keys, vocab: gpt2Vocab,

	naming: naming{skipSuffixes: []string{".attn.bias", ".attn.masked_bias"}}, mlx: mlxRow{none: "mlx-lm stores its matrices transposed"}, back: backward{fewerTokens: true, members: gpt2Back},
}

func gpt2Keys(k *keys) {
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("context_length", "n_positions", "n_ctx")
	k.u32("embedding_length", "n_embd", "hidden_size")
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
}
