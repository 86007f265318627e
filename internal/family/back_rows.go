package family

// The functions that turn the keys of an architecture into members of config.json. A file
// with a key that they do not read is refused.

func llamaBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.biases("mlp_bias", s.layers(), feed...)
	s.put("hidden_act", `"silu"`)
}

func smollm3Back(s *settings) {
	llamaBack(s)
	s.put("no_rope_layer_interval", "4") // as in llama.cpp
	s.put("use_sliding_window", "false")
}

func mixtralBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.put("hidden_act", `"silu"`)
	s.put("sliding_window", "null")
}

func graniteBack(s *settings) {
	llamaBack(s)
	s.graniteFactors()
}

// graniteFactors puts the factors of Granite.
func (s *settings) graniteFactors() {
	for _, m := range [][2]string{
		{"attention_multiplier", "attention.scale"}, {"embedding_multiplier", "embedding_scale"},
		{"residual_multiplier", "residual_scale"}, {"logits_scaling", "logit_scale"},
	} {
		if !s.optionalFloat(m[0], m[1]) {
			s.fail(s.row.arch+"."+m[1], "it is missing, and %s depends on it", m[0])
		}
	}
}

func qwen2Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("", s.layers(), projections[:3]...)
	_, _ = s.key("pooling_type") // see lostPooling
	s.put("hidden_act", `"silu"`)
	s.put("use_sliding_window", "false")
}

func qwen3Back(s *settings) {
	_, _, head := s.common()
	s.rerankerMembers()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
	s.put("use_sliding_window", "false")
}

// mixture puts the members of Qwen's experts, which every layer has.
func (s *settings) mixture(normed bool) {
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.put("norm_topk_prob", boolText(normed)) // as in llama.cpp
	s.put("decoder_sparse_step", "1")
	s.put("mlp_only_layers", "[]")
}

func qwen2moeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("qkv_bias", s.layers(), projections[:3]...)
	s.mixture(false)
	s.requireInt("shared_expert_intermediate_size", "expert_shared_feed_forward_length")
	s.put("hidden_act", `"silu"`)
	s.put("use_sliding_window", "false")
}

func qwen3moeBack(s *settings) {
	qwen3Back(s)
	s.mixture(true)
	s.expect("expert_shared_feed_forward_length", 0)
}

func gemmaBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
}

// scale puts query_pre_attn_scalar, the width of a head. llama.cpp knows the largest model
// by its number of layers.
func (s *settings) scale(hidden, heads, head, largest int64) {
	if s.layers() == largest && heads > 0 {
		head = hidden / heads
	}
	s.putInt("query_pre_attn_scalar", head)
}

func gemma2Back(s *settings) {
	hidden, heads, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.scale(hidden, heads, head, 46)
	s.window(4096)
	for _, m := range [][2]string{{"attn_logit_softcapping", "50.0"}, {"final_logit_softcapping", "30.0"}} {
		if !s.optionalFloat(m[0], m[0]) {
			s.put(m[0], m[1])
		}
	}
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
}

// window puts the size of the attention window.
func (s *settings) window(otherwise int64) {
	n, ok := s.int("attention.sliding_window")
	if !ok {
		n = otherwise
	}
	if n == 0 {
		s.put("sliding_window", "null")
		return
	}
	s.putInt("sliding_window", n)
}

func gemma3Back(s *settings) {
	hidden, heads, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.scale(hidden, heads, head, 62)
	if n, ok := s.int("attention.sliding_window"); !ok || n == 0 {
		s.fail(s.row.arch+".attention.sliding_window", "there is none, but Gemma 3 of transformers has layers with one")
	}
	s.window(0)
	s.expect("attention.sliding_window_pattern", 6)
	s.put("sliding_window_pattern", "6")
	if !s.optionalFloat("rope_local_base_freq", "rope.freq_base_swa") {
		s.put("rope_local_base_freq", "10000.0")
	}
	s.put("attn_logit_softcapping", "null")
	if !s.optionalFloat("final_logit_softcapping", "final_logit_softcapping") {
		s.put("final_logit_softcapping", "null")
	}
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
	s.put("hidden_act", `"gelu_pytorch_tanh"`)
}

// embeddingGemmaBack puts the members of EmbeddingGemma: Gemma 3's, with bidirectional
// attention.
func embeddingGemmaBack(s *settings) {
	gemma3Back(s)
	_, _ = s.key("pooling_type") // see lostPooling
	s.put("use_bidirectional_attention", "true")
}

func phi3Back(s *settings) {
	_, _, head := s.common()
	n, ok := s.int("rope.dimension_count")
	switch {
	case !ok || n == head:
		n = head
	case head == 0 || n > head || n%2 != 0:
		s.fail("phi3.rope.dimension_count", "its value is %d, of heads of %d", n, head)
	default:
		s.put("partial_rotary_factor", float32JSON(float64(float32(n)/float32(head))))
	}
	s.rotations(n)
	if n, ok := s.int("rope.scaling.original_context_length"); ok {
		s.putInt("original_max_position_embeddings", n)
	}
	_, _ = s.key("rope.scaling.attn_factor") // see readLongRope
	s.window(0)
	s.put("hidden_act", `"silu"`)
}

func olmo2Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
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

func gpt2Back(s *settings) {
	hidden := s.requireInt("n_embd", "embedding_length")
	s.requireInt("n_layer", "block_count")
	heads := s.requireInt("n_head", "attention.head_count")
	s.requireInt("n_positions", "context_length")
	s.expect("feed_forward_length", float64(4*hidden))
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.expect("attention.head_count_kv", float64(heads))
	s.vocabulary()
	s.biases("", s.layers(), "attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")
	s.put("activation_function", `"gelu_new"`)
}
