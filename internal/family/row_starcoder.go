package family

// bigcodeRow: the first StarCoder, GPT-2 with one key head.
var bigcodeRow = &row{
	arch: "starcoder", model: "gpt_bigcode", names: []string{"GPTBigCodeForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "50257"}, {"n_positions", "1024"}, {"layer_norm_epsilon", "1e-05"}},
	outer:    gpt2Row.outer, layer: "transformer.h.#.",
	layers: lazy(func() []mapping { return gpt2Linears(FFN4) }),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys:   bigcodeKeys, vocab: gpt2Vocab,

	attention: attention{kvHeads: func(*config) int64 { return 1 }}, mlx: mlxRow{none: notCompared}, back: backward{members: bigcodeBack},
}

// gpt2Linears are layers with the names of GPT-2, whose matrices lie as those of Linear.
func gpt2Linears(ffn size) []mapping {
	return []mapping{
		{hf: "ln_1", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "attn.c_attn", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
		{hf: "attn.c_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
		{hf: "ln_2", gguf: "ffn_norm", shape: dims{Hidden}},
		{hf: "mlp.c_fc", gguf: "ffn_up", shape: dims{ffn, Hidden}},
		{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{Hidden, ffn}},
	}
}

func bigcodeKeys(k *keys) {
	gpt2Keys(k)
	k.putArch("attention.head_count_kv", uint32(1))
	k.requireMember("multi_query", "true")
	k.requireMember("num_key_value_heads", "1")
	if n := k.c.get("n_inner"); k.c.int("n_inner") != 0 && k.c.int("n_inner") != 4*k.c.hidden() {
		k.fail("n_inner", n, "4 * hidden_size, as llama.cpp assumes for StarCoder")
	}
	if act := k.c.get("activation_function"); act.There && act.String() != "gelu_pytorch_tanh" && act.String() != "gelu" && act.String() != "gelu_new" {
		k.fail("activation_function", act, "GELU")
	}
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

func starcoder2Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.optionalFloat("norm_epsilon", "attention.layer_norm_epsilon")
	s.biases("use_bias", s.layers(), "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
	s.biases("", s.layers(), "attn_norm", "ffn_norm")
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
	s.put("sliding_window", "null")
}

func bigcodeBack(s *settings) {
	hidden := s.requireInt("n_embd", "embedding_length")
	s.requireInt("n_layer", "block_count")
	s.requireInt("n_head", "attention.head_count")
	s.requireInt("n_positions", "context_length")
	s.expect("feed_forward_length", float64(4*hidden))
	s.expect("attention.head_count_kv", 1)
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.vocabulary()
	s.put("multi_query", "true")
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
	s.put("activation_function", `"gelu_pytorch_tanh"`)
}
