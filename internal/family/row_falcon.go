package family

// Falcon's attention and feed-forward layer read the same norm or, in the 40B, one each.
// llama.cpp tells the two apart by their tensors.

// inGroups reports the layers of Falcon 40B and 11B.
func inGroups(c *config) bool {
	return c.bool("new_decoder_architecture", c.get("n_head_kv").There)
}

// falconGroups returns the number of key heads. num_kv_heads has no meaning in models
// without groups.
func falconGroups(c *config) int64 {
	switch {
	case inGroups(c):
		return c.int("num_kv_heads", "n_head_kv")
	case c.bool("multi_query", true):
		return 1
	}
	return c.heads()
}

func twoNorms(c *config, _ int64) bool {
	n, stated := c.get("num_ln_in_parallel_attn").Int()
	return inGroups(c) && (!stated || n == 2)
}

func oneNorm(c *config, layer int64) bool { return !twoNorms(c, layer) }

var falconRow = &row{
	arch: "falcon", model: "falcon", names: []string{"FalconForCausalLM", "RWForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "65024"}, {"layer_norm_epsilon", "1e-05"}},
	outer: []mapping{
		{hf: "transformer.word_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}, inLayer: oneNorm},
			{hf: "ln_mlp", gguf: "attn_norm", shape: dims{Hidden}, inLayer: twoNorms},
			{hf: "ln_attn", gguf: "attn_norm_2", shape: dims{Hidden}, inLayer: twoNorms},
			{hf: "self_attention.query_key_value", shape: dims{QKV, Hidden}, views: bundledView("attn_qkv")},
			{hf: "self_attention.dense", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{FFN4, Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, FFN4}},
		}
	}),
	biased: []string{"attn_norm", "attn_norm_2", "output_norm"},
	keys:   falconKeys, vocab: gpt2Vocab,

	attention: attention{kvHeads: falconGroups}, mlx: mlxRow{none: notCompared}, back: backward{members: falconBack},
}

func falconKeys(k *keys) {
	k.putArch("context_length", uint32(2048)) // as in the converter
	k.putArch("tensor_data_layout", "jploski")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
	for _, m := range []string{"alibi", "bias"} {
		k.requireMember(m, "false")
	}
	if !inGroups(k.c) {
		k.requireMember("parallel_attn", "true")
	} else if v := k.c.get("num_ln_in_parallel_attn"); v.There && k.c.int("num_ln_in_parallel_attn") != 1 && k.c.int("num_ln_in_parallel_attn") != 2 {
		k.fail("num_ln_in_parallel_attn", v, "1 or 2")
	}
	k.requireMember("activation", "gelu")
	if n := k.c.get("ffn_hidden_size"); n.There && k.c.int("ffn_hidden_size") != 4*k.c.hidden() {
		k.fail("ffn_hidden_size", n, "4 * hidden_size, as llama.cpp assumes for Falcon")
	}
	if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
		k.fail("rope_theta", k.c.rope().theta, "10000, as llama.cpp assumes for Falcon")
	}
}

func falconBack(s *settings) {
	hidden := s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	heads := s.requireInt("num_attention_heads", "attention.head_count")
	groups := s.requireInt("num_kv_heads", "attention.head_count_kv")
	s.expect("feed_forward_length", float64(4*hidden))
	s.expect("context_length", 2048)
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	layout, _ := s.key("tensor_data_layout")
	if layout != "jploski" {
		s.fail("falcon.tensor_data_layout", "its value is %s", valueText(layout))
	}
	s.vocabulary()
	two := s.tensors["blk.0.attn_norm_2.weight"] != nil
	fresh := two || groups != 1 && groups != heads
	s.put("new_decoder_architecture", boolText(fresh))
	s.put("multi_query", boolText(fresh || groups == 1))
	s.put("parallel_attn", "true")
	if fresh {
		s.putInt("num_ln_in_parallel_attn", map[bool]int64{false: 1, true: 2}[two])
	}
	s.biases("", s.layers(), "attn_norm")
	s.put("alibi", "false")
	s.put("bias", "false")
	s.put("activation", `"gelu"`)
	s.put("rope_theta", "10000.0")
}
