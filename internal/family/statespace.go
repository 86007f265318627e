package family

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

// isHybrid reports whether the keys describe a state space, even if all layers have
// attention.
func (s *settings) isHybrid() bool {
	arch, _ := s.keys["general.architecture"].(string)
	_, there := s.keys[arch+".ssm.conv_kernel"]
	return there
}

// states is how wide a state space is.
func (c *config) states() int64 {
	if n := c.int("mamba_d_ssm"); n > 0 {
		return n
	}
	if n := c.int("mamba_num_heads"); n > 0 {
		return n * c.int("mamba_head_dim")
	}
	return c.int("mamba_expand") * c.hidden()
}

// groups are those that states are made in.
func (c *config) groups() int64 { return c.int("mamba_n_groups", "n_groups") }

func (c *config) groupStates() int64 { return c.groups() * c.int("mamba_d_state", "ssm_state_size") }

// groupedNorm is the norm of each group of states.
var groupedNorm = view{
	gguf: "ssm_norm",
	shape: func(c *config) []int64 {
		return []int64{c.groups(), c.states() / max(1, c.groups())}
	},
	strides: func(c *config) ([]int64, int64) { return []int64{c.states() / max(1, c.groups()), 1}, 0 },
}
