package family

// Models with state spaces or linear attention.

// attentionLayers reads the number of key heads of each layer, 0 in layers without
// attention.
func (s *settings) attentionLayers() []bool { return s.sharedValue("attention.head_count_kv") }

// isSet reports whether a layer is set in a list, which may be nil.
func isSet(list []bool, layer int64) bool { return layer < int64(len(list)) && list[layer] }

// stateSpace puts the sizes of a state space under Granite's names.
func (s *settings) stateSpace(hidden int64) {
	heads := s.requireInt("mamba_n_heads", "ssm.time_step_rank")
	s.requireInt("mamba_d_state", "ssm.state_size")
	s.requireInt("mamba_n_groups", "ssm.group_count")
	s.requireInt("mamba_d_conv", "ssm.conv_kernel")
	inner, _ := s.int("ssm.inner_size")
	if hidden < 1 || heads < 1 || inner < 1 || inner%hidden != 0 || inner%heads != 0 {
		s.fail(s.row.arch+".ssm.inner_size", "its value is %d, for a width of %d and %d heads", inner, hidden, heads)
		return
	}
	s.putInt("mamba_expand", inner/hidden)
	s.putInt("mamba_d_head", inner/heads)
	s.biased("mamba_conv_bias", "ssm_conv1d")
	s.biased("mamba_proj_bias", "ssm_in", "ssm_out")
}

// graniteHybridBack puts the members of Granite 4, which has no rotary embeddings if the
// key that llama.cpp reads for it says so.
func graniteHybridBack(s *settings) {
	attends := s.attentionLayers()
	hidden, _, head := s.common()
	s.graniteFactors()
	value, stated := s.key("rope.scaling.finetuned")
	turns, isTruth := value.(bool)
	if stated && !isTruth {
		s.fail(s.row.arch+".rope.scaling.finetuned", "its value is not a boolean")
	}
	s.rotations(head)
	s.put("position_embedding_type", map[bool]string{true: `"rope"`, false: `"nope"`}[turns || !stated])
	s.stateSpace(hidden)
	s.putPerLayer("layer_types", func(l int64) string {
		if isSet(attends, l) {
			return "attention"
		}
		return "mamba"
	})
	experts, _ := s.int("expert_count")
	s.putInt("num_local_experts", experts)
	used, _ := s.int("expert_used_count")
	s.putInt("num_experts_per_tok", used)
	shared, _ := s.int("expert_shared_feed_forward_length")
	s.putInt("shared_intermediate_size", shared)
	s.biased("attention_bias", projections...)
	s.put("hidden_act", `"silu"`)
}

// isHybrid reports whether the keys describe a state space, even if all layers have
// attention.
func (s *settings) isHybrid() bool {
	arch, _ := s.keys["general.architecture"].(string)
	_, there := s.keys[arch+".ssm.conv_kernel"]
	return there
}

// nemotronHBack returns a function that puts the members of Nemotron-H; mixed says that
// some layers are experts.
func nemotronHBack(mixed bool) func(*settings) {
	return func(s *settings) {
		attends := s.attentionLayers()
		feeds := s.sharedValue("feed_forward_length")
		_, _, head := s.common()
		hidden, _ := s.int("embedding_length")
		heads, _ := s.int("attention.head_count")
		if heads > 0 {
			s.expect("rope.dimension_count", float64(hidden/heads)) // not used
		}
		s.rotations(head)
		s.expect("rope.scaling.finetuned", 0)
		epsilon, _ := s.float("attention.layer_norm_rms_epsilon")
		s.put("layer_norm_epsilon", epsilon)
		if f, ok := number(s.keys[s.row.arch+".attention.layer_norm_rms_epsilon"]); ok {
			s.expect("attention.layer_norm_epsilon", f)
		}
		s.requireInt("conv_kernel", "ssm.conv_kernel")
		s.requireInt("ssm_state_size", "ssm.state_size")
		s.requireInt("n_groups", "ssm.group_count")
		inner, _ := s.int("ssm.inner_size")
		if n := s.requireInt("mamba_num_heads", "ssm.time_step_rank"); n < 1 || inner%n != 0 {
			s.fail(s.row.arch+".ssm.inner_size", "its value is %d, for %d heads", inner, n)
		} else {
			s.putInt("mamba_head_dim", inner/n)
		}
		s.blockPattern(attends, feeds, mixed)
		if mixed {
			s.nemotronHExperts()
		}
		s.biased("attention_bias", projections...)
		s.biased("mlp_bias", "ffn_up", "ffn_down")
		s.biased("use_conv_bias", "ssm_conv1d")
		s.biased("mamba_proj_bias", "ssm_in", "ssm_out")
		s.put("use_bias", "false")
		s.put("mlp_hidden_act", `"relu2"`)
		s.put("mamba_hidden_act", `"silu"`)
	}
}

// blockPattern puts the letter of each layer. A feed-forward layer of a mixture is known
// by its tensor, since llama.cpp does not store its width.
func (s *settings) blockPattern(attends, feeds []bool, mixed bool) {
	text := ""
	for l := range s.layers() {
		up := s.tensors["blk."+itoa(l)+".ffn_up.weight"]
		switch {
		case isSet(attends, l):
			text += "*"
		case isSet(feeds, l) && !mixed:
			text += "-"
		case isSet(feeds, l):
			text += "E"
		case mixed && up != nil && len(up.Shape) == 2:
			s.replace("intermediate_size", itoa(up.Shape[0]))
			text += "-"
		default:
			text += "M"
		}
	}
	s.put("hybrid_override_pattern", `"`+text+`"`)
}

func (s *settings) nemotronHExperts() {
	s.requireInt("n_routed_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length")
	s.requireInt("n_shared_experts", "expert_shared_count")
	s.scoring()
	s.expect("expert_gating_func", 2)
}

// linearBack puts the members of linear attention, and of the layers that predict further
// tokens.
func (s *settings) linearBack(head int64) {
	s.partialRotary(head)
	s.requireInt("linear_conv_kernel_dim", "ssm.conv_kernel")
	s.requireInt("linear_key_head_dim", "ssm.state_size")
	s.requireInt("linear_num_key_heads", "ssm.group_count")
	inner, _ := s.int("ssm.inner_size")
	if n := s.requireInt("linear_num_value_heads", "ssm.time_step_rank"); n < 1 || inner%n != 0 {
		s.fail(s.row.arch+".ssm.inner_size", "its value is %d, for %d heads", inner, n)
	} else {
		s.putInt("linear_value_head_dim", inner/n)
	}
	all, _ := s.int("block_count")
	further, _ := s.int("nextn_predict_layers")
	if further >= all && further > 0 {
		s.fail(s.row.arch+".nextn_predict_layers", "its value is %d, of %d layers", further, all)
	}
	s.replace("num_hidden_layers", itoa(all-further))
	s.putInt("mtp_num_hidden_layers", further)
	every := s.requireInt("full_attention_interval", "full_attention_interval")
	linear, stated := s.perLayerBools("attention.recurrent_layers", s.layers())
	text := ""
	for l := range max(0, s.layers()-further) {
		kind := `, "full_attention"`
		if isSet(linear, l) || !stated && every > 0 && (l+1)%every != 0 {
			kind = `, "linear_attention"`
		}
		text += kind
	}
	if text != "" {
		s.put("layer_types", "["+text[2:]+"]")
	}
	s.biased("attention_bias", projections...)
	s.put("hidden_act", `"silu"`)
}

func qwen3nextBack(s *settings) {
	_, _, head := s.common()
	s.linearBack(head)
	s.sharedMixture()
}

func qwen35Back(mixed bool) func(*settings) {
	return func(s *settings) {
		_, _, head := s.common()
		_, _ = s.key("rope.dimension_sections") // equal for a text
		s.linearBack(head)
		if mixed {
			s.sharedMixture()
		}
	}
}

// sharedMixture puts the members of Qwen's experts and of the shared expert.
func (s *settings) sharedMixture() {
	s.mixture(true)
	s.requireInt("shared_expert_intermediate_size", "expert_shared_feed_forward_length")
}
