package family

// replace puts a member that may have been put before.
func (s *settings) replace(member, value string) {
	for i := range s.list {
		if s.list[i].name == member {
			s.list[i].value = value
			return
		}
	}
	s.put(member, value)
}

func gptossBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	wide, _ := s.int("feed_forward_length")
	s.expect("expert_feed_forward_length", float64(wide))
	s.window(128)
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}

func llama4Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("intermediate_size_mlp", "feed_forward_length")
	own, ok := s.int("expert_feed_forward_length")
	if !ok {
		s.fail("llama4.expert_feed_forward_length", "it is missing, and intermediate_size depends on it")
	}
	s.replace("intermediate_size", itoa(own))
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("interleave_moe_layer_step", "interleave_moe_layer_step")
	if n, ok := s.int("attention.sliding_window"); ok {
		if n != 0 {
			s.fail("llama4.attention.sliding_window", "its value is %d, which config.json cannot express", n)
		}
		kinds := ""
		for range s.layers() {
			kinds += `, "full_attention"`
		}
		if kinds != "" {
			s.put("layer_types", "["+kinds[2:]+"]")
		}
	}
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}

// encoder puts the members that all encoders have.
func (s *settings) encoder() {
	s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	s.requireInt("num_attention_heads", "attention.head_count")
	s.requireInt("intermediate_size", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type") // see lostPooling
	s.classLabels()
	n := s.rows("token_embd.weight")
	s.expect("vocab_size", float64(n))
	s.putInt("vocab_size", n)
	if s.tensors["token_types.weight"] != nil {
		s.putInt("type_vocab_size", s.rows("token_types.weight"))
	}
}

func bertBack(s *settings) {
	s.encoder()
	s.classifier("the pooling layer, which its head reads")
	s.biases("", s.layers(), "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down", "attn_output_norm", "layer_output_norm")
	s.put("hidden_act", `"gelu"`)
}

func distilbertBack(s *settings) {
	s.requireInt("dim", "embedding_length")
	s.requireInt("n_layers", "block_count")
	s.requireInt("n_heads", "attention.head_count")
	s.requireInt("hidden_dim", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.expect("attention.layer_norm_epsilon", float64(float32(1e-12)))
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type")
	s.classLabels()
	s.classifier("")
	s.putInt("vocab_size", s.rows("token_embd.weight"))
	s.biases("", s.layers(), "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down", "attn_output_norm", "layer_output_norm")
	s.put("activation", `"gelu"`)
}

func modernbertBack(s *settings) {
	s.encoder()
	s.classifier("")
	s.optionalFloat("norm_eps", "attention.layer_norm_rms_epsilon")
	s.requireInt("local_attention", "attention.sliding_window")
	if n, ok := s.int("attention.sliding_window_pattern"); ok {
		s.putInt("global_attn_every_n_layers", n)
	}
	if kind, there := s.key("rope.scaling.type"); there && kind != "none" {
		s.fail("modern-bert.rope.scaling.type", "its value is %s", valueText(kind))
	}
	s.optionalFloat("global_rope_theta", "rope.freq_base")
	s.optionalFloat("local_rope_theta", "rope.freq_base_swa")
	act := "gelu"
	if v, there := s.key("hidden_activation"); there {
		act, _ = v.(string)
	}
	if act != "gelu" && act != "silu" {
		s.fail("modern-bert.hidden_activation", "its value is neither gelu nor silu")
	}
	s.put("hidden_activation", `"`+act+`"`)
	if n, ok := s.int("classifier.pooling_type"); ok {
		kinds := map[int64]string{1: `"mean"`, 2: `"cls"`}
		if kinds[n] == "" {
			s.fail("modern-bert.classifier.pooling_type", "its value is %d", n)
		}
		s.put("classifier_pooling", kinds[n])
	}
	s.biases("attention_bias", s.layers(), "attn_qkv", "attn_output")
	s.biases("mlp_bias", s.layers(), "ffn_up", "ffn_down")
	s.biases("norm_bias", s.layers(), "ffn_norm")
}

// nomicbertBack uses the members of published configurations, which are named like
// GPT-2's.
func nomicbertBack(s *settings) {
	s.requireInt("n_embd", "embedding_length")
	s.requireInt("n_layer", "block_count")
	s.requireInt("n_head", "attention.head_count")
	s.requireInt("n_inner", "feed_forward_length")
	s.expect("context_length", 2048)
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.optionalFloat("rotary_emb_base", "rope.freq_base")
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type")
	s.putInt("vocab_size", s.rows("token_embd.weight"))
	s.putInt("type_vocab_size", s.rows("token_types.weight"))
	for _, m := range [][2]string{
		{"n_positions", "8192"}, {"max_trained_positions", "2048"}, {"activation_function", `"swiglu"`}, {"causal", "false"}, {"qkv_proj_bias", "false"},
		{"mlp_fc1_bias", "false"}, {"mlp_fc2_bias", "false"}, {"prenorm", "false"}, {"rotary_emb_interleaved", "false"}, {"rotary_emb_fraction", "1.0"}, {"rotary_emb_scale_base", "null"},
	} {
		s.put(m[0], m[1])
	}
}

// lostPooling describes the file of sentence-transformers that is not written, "" if the
// model needs none.
func (s *settings) lostPooling() string {
	n, ok := number(s.keys[s.row.arch+".pooling_type"])
	if !ok || n < 1 || n > 3 {
		return ""
	}
	return "modules.json of sentence-transformers (one vector for a text is made by " + map[float64]string{1: "mean", 2: "cls", 3: "lasttoken"}[n] + ")"
}
