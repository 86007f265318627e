package family

// GLM-4 before 0414, as transformers has it and as its own code writes it.

// glmPresets are what both classes state.
var glmPresets = []preset{{"vocab_size", "151552"}, {"layernorm_epsilon", "1e-05"}}

var glmRow = &row{
	arch: "chatglm", model: "glm", names: []string{"GlmForCausalLM"},
	defaults: []preset{{"vocab_size", "151552"}, {"rms_norm_eps", "1.5625e-07"}, {"head_dim", "128"}, {"num_key_value_heads", "2"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(ffnNorm,
			mapping{hf: "mlp.gate_up_proj", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			mapping{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		)
	}),
	keys: chatglmKeys, vocab: chatglmVocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: glmBack, matches: func(s *settings) bool { return s.tensors["blk.0.attn_qkv.weight"] == nil }},
}

var chatglmRow = &row{
	arch: "chatglm", model: "chatglm", names: []string{"ChatGLMModel", "ChatGLMForConditionalGeneration"},
	defaults: glmPresets,
	outer: []mapping{
		{hf: "embedding.word_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "encoder.final_layernorm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "output_layer", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "encoder.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attention.query_key_value", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "self_attention.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{double(chatglmFeed), Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, chatglmFeed}},
		}
	}),
	keys: chatglmKeys, vocab: chatglmVocab,

	naming: naming{trimPrefixes: []string{"transformer."}, skipPrefixes: []string{"rotary_pos_emb.", "transformer.rotary_pos_emb."}}, attention: attention{kvHeads: chatglmGroups}, mlx: mlxRow{none: notCompared}, back: backward{lost: "the prefix of its tensors", matches: func(s *settings) bool { return s.tensors["blk.0.attn_qkv.weight"] != nil }},
}

func chatglmFeed(c *config) int64 { return c.int("ffn_hidden_size") }

func chatglmGroups(c *config) int64 {
	if c.bool("multi_query_attention", false) {
		return c.int("multi_query_group_num")
	}
	return c.heads()
}

func chatglmKeys(k *keys) {
	k.putArch("context_length", uint32(k.c.hidden())) // as in the converter
	k.u32("context_length", "seq_length")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.u32("feed_forward_length", "ffn_hidden_size", "intermediate_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.f32("attention.layer_norm_rms_epsilon", "layernorm_epsilon", "rms_norm_eps")
	part := 0.5
	if f, ok := k.c.rope().fraction.Float(); ok && f > 0 && f <= 1 {
		part = f
	}
	k.putArch("rope.dimension_count", uint32(float64(k.c.hidden()/k.c.heads())*part))
	k.put("tokenizer.ggml.add_bos_token", false)
	base := 10000.0
	if f, ok := k.c.get("rope_ratio").Float(); ok {
		base *= f
	}
	k.putArch("rope.freq_base", float32(base))
	if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
		k.fail("rope_theta", k.c.rope().theta, "10000, which the converter multiplies by rope_ratio")
	}
	for _, m := range []string{"rmsnorm", "original_rope", "post_layer_norm"} {
		k.requireMember(m, "true")
	}
	for _, m := range []string{"add_bias_linear", "apply_residual_connection_post_layernorm"} {
		k.requireMember(m, "false")
	}
	if k.c.headDim() != k.c.hidden()/k.c.heads() || k.c.int("kv_channels") != 0 && k.c.int("kv_channels") != k.c.headDim() {
		k.fail("head_dim", k.c.get("head_dim", "kv_channels"), "hidden_size / num_attention_heads, as llama.cpp assumes for ChatGLM")
	}
}

func chatglmVocab(k *keys) error {
	err := k.glmTokens(specialToken{"eos", "<|endoftext|>"}, specialToken{"eot", "<|user|>"}, specialToken{"unk", "<|endoftext|>"})
	k.put("tokenizer.ggml.add_bos_token", false)
	return err
}

func glmBack(s *settings) {
	hidden, heads := s.statedMembers()
	s.vocabulary()
	head := hidden / max(1, heads)
	s.putInt("head_dim", head)
	s.partialRotary(head)
	s.biases("attention_bias", s.layers(), projections[:3]...)
	s.put("hidden_act", `"silu"`)
}
