package family

// Models whose attention and feed-forward layer may read the same norm, with LayerNorm and
// rotary embeddings of a part of a head.

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

// rotatedPart returns how many of the given elements rotate.
func (c *config) rotatedPart(of int64, otherwise float64) int64 {
	if f, ok := c.rope().fraction.Float(); ok {
		otherwise = f
	}
	if !(otherwise > 0 && otherwise <= 1) {
		return of
	}
	return int64(otherwise * float64(of))
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

// parallelResidual puts whether attention and the feed-forward layer read the same norm,
// which is the default.
func (s *settings) parallelResidual() {
	v, there := s.key("use_parallel_residual")
	on, isBool := v.(bool)
	if there && !isBool {
		s.fail(s.row.arch+".use_parallel_residual", "its value is %s", valueText(v))
	}
	s.put("use_parallel_residual", boolText(on || !there))
}

var phi2Row = &row{
	arch: "phi2", model: "phi", names: []string{"PhiForCausalLM"},
	defaults: []preset{{"vocab_size", "51200"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"partial_rotary_factor", "0.5"}},
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.final_layernorm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder()[:4],
			mapping{hf: "self_attn.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			mapping{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			mapping{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		)
	}),
	biased: []string{"attn_norm", "attn_output", "ffn_down", "ffn_up", "output", "output_norm"},
	keys:   phi2Keys, vocab: phi2Vocab,

	back: backward{members: phi2Back},
}

func phi2Keys(k *keys) {
	k.u32("context_length", "n_positions", "max_position_embeddings")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.heads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon", "layer_norm_eps")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.hidden(), 0.5)/k.c.heads()))
	switch {
	case k.c.kvHeads() != k.c.heads():
		k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of attention heads, as llama.cpp assumes for Phi 2")
	case k.c.int("intermediate_size") != 4*k.c.hidden():
		k.fail("intermediate_size", k.c.get("intermediate_size"), "4 * hidden_size, as llama.cpp assumes for Phi 2")
	}
}

func phi2Vocab(k *keys) error {
	k.put("tokenizer.ggml.add_bos_token", false)
	return gpt2Vocab(k)
}

func phi2Back(s *settings) {
	_, _, head := s.common()
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.partialRotary(head)
	s.biases("", s.layers(), "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
	s.put("qk_layernorm", "false")
	s.put("hidden_act", `"gelu_new"`)
}

var gptneoxRow = &row{
	arch: "gptneox", model: "gpt_neox", names: []string{"GPTNeoXForCausalLM"}, noFileType: true,
	defaults: []preset{{"vocab_size", "50432"}, {"layer_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"rotary_pct", "0.25"}, {"use_parallel_residual", "true"}},
	outer: []mapping{
		{hf: "gpt_neox.embed_in", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "gpt_neox.final_layer_norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "embed_out", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "gpt_neox.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attention.query_key_value", shape: dims{QKV, Hidden}, views: bundledView("attn_qkv")},
			{hf: "attention.dense", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm"},
	keys:   gptneoxKeys, vocab: gpt2Vocab,

	attention: attention{kvHeads: func(c *config) int64 { return c.heads() }}, mlx: mlxRow{none: "mlx-lm has other names for its layers"}, back: backward{members: gptneoxBack},
}

func gptneoxKeys(k *keys) {
	k.u32("context_length", "max_position_embeddings")
	k.u32("embedding_length", "hidden_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("feed_forward_length", "intermediate_size")
	part := k.c.get("rotary_pct")
	if params := k.c.rope().params.Get("partial_rotary_factor"); params.There {
		part = params
	}
	f, ok := part.Float()
	if !ok || !(f > 0 && f <= 1) {
		k.fail("rotary_pct", part, "above 0 and at most 1")
		return
	}
	k.putArch("rope.dimension_count", uint32(f*float64(k.c.hidden()/k.c.heads())))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("use_parallel_residual", k.c.bool("use_parallel_residual", true))
	k.f32("attention.layer_norm_epsilon", "layer_norm_eps")
	if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
		k.fail("rope_theta", k.c.rope().theta, "10000, as llama.cpp assumes for GPT-NeoX")
	}
}

func gptneoxBack(s *settings) {
	_, _, head := s.common()
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.partialRotary(head)
	for _, m := range s.list {
		if m.name == "partial_rotary_factor" {
			s.put("rotary_pct", m.value)
		}
	}
	s.parallelResidual()
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
	s.put("attention_bias", "true")
	s.put("hidden_act", `"gelu"`)
}

// bloomRow: no rotary embeddings but ALiBi.
var bloomRow = &row{
	arch: "bloom", model: "bloom", names: []string{"BloomForCausalLM", "BloomModel"}, tied: true,
	defaults: []preset{{"vocab_size", "250880"}, {"layer_norm_epsilon", "1e-05"}},
	outer: []mapping{
		{hf: "transformer.word_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.word_embeddings_layernorm", gguf: "token_embd_norm", shape: dims{Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}, optional: true},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attention.query_key_value", shape: dims{QKV, Hidden}, views: bundledView("attn_qkv")},
			{hf: "self_attention.dense", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.dense_h_to_4h", gguf: "ffn_up", shape: dims{FFN4, Hidden}},
			{hf: "mlp.dense_4h_to_h", gguf: "ffn_down", shape: dims{Hidden, FFN4}},
		}
	}),
	biased: []string{"attn_norm", "attn_output", "attn_qkv", "ffn_down", "ffn_norm", "ffn_up", "output_norm", "token_embd_norm"},
	keys:   bloomKeys, vocab: gpt2Vocab,

	naming: naming{optionalPrefix: "transformer."}, mlx: mlxRow{none: "mlx-lm has no such model"}, back: backward{members: bloomBack},
}

func bloomKeys(k *keys) {
	k.putArch("context_length", uint32(k.c.hidden()))
	k.u32("context_length", "seq_length")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.heads()))
	k.f32("attention.layer_norm_epsilon", "layer_norm_epsilon")
}

func bloomBack(s *settings) {
	hidden := s.requireInt("hidden_size", "embedding_length")
	s.requireInt("n_layer", "block_count")
	heads := s.requireInt("n_head", "attention.head_count")
	s.requireInt("seq_length", "context_length")
	s.expect("feed_forward_length", float64(4*hidden))
	s.expect("attention.head_count_kv", float64(heads))
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.vocabulary()
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
}
