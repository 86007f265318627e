package family

// leadingDense returns how many layers come before the first one with experts: by the kinds of
// feed-forward layers, else as stated.
func (c *config) leadingDense() int64 {
	kinds := c.get("mlp_layer_types")
	if !kinds.There {
		return c.int("first_k_dense_replace", "first_last_k_dense_replace")
	}
	list := kinds.List()
	for i := range min(len(list), maxLayers) {
		if list[i].String() != "dense" {
			return int64(i)
		}
	}
	return int64(len(list))
}

func leads(c *config, layer int64) bool { return layer < c.leadingDense() }

// follows reports a layer with experts, after those without.
func follows(c *config, layer int64) bool { return !leads(c, layer) }

// experted are the experts of such layers, with those that all tokens have under shared_experts.
func experted(correction string, shared size) []mapping {
	list := with(experts,
		mapping{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{shared, Hidden}},
		mapping{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{shared, Hidden}},
		mapping{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, shared}},
	)
	if correction != "" {
		list = append(list, mapping{hf: correction, gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true})
	}
	return with(onlyIn(leads, mlp), onlyIn(follows, list)...)
}

// sharedCount is the width of num_shared_experts experts, each as wide as the others.
func sharedCount(c *config) int64 {
	n := c.int("num_shared_experts", "n_shared_experts")
	if n > 1<<10 {
		return 0 // no tensor has this shape
	}
	return n * c.int("moe_intermediate_size")
}
