package family

// stacked makes views of a stack of experts [E, in, out], whose matrices llama.cpp has
// as [out, in]: every step-th column from first on, of as many as wide says.
func stacked(gguf string, in, out byte, wide func(c *config) int64, step, first int64, half bool) view {
	return view{
		gguf: gguf, step: step, first: first,
		shape: func(c *config) []int64 { return []int64{c.experts(), dims[out](c), dims[in](c)} },
		strides: func(c *config) ([]int64, int64) {
			cols, from := wide(c), first
			if half {
				from = first * dims[out](c)
			}
			return []int64{dims[in](c) * cols, max(1, step), cols}, from
		},
	}
}

// columns leads a stack of experts back: the rows of llama.cpp's are columns.
func columns(in, out byte, turns func(*config) int64) *merged {
	return &merged{turns: turns, back: func(c *config) []int64 {
		return []int64{dims[in](c) * dims[out](c), 1, dims[in](c)}
	}}
}

func width(letter byte, times int64) func(*config) int64 {
	return func(c *config) int64 { return times * dims[letter](c) }
}

// OpenAI's experts have rows of the gate and of what it lets pass by turns.
var ossExperts = []name{
	{hf: "mlp.router", gguf: "ffn_gate_inp", shape: "EH"},
	{hf: "mlp.experts.gate_up_proj", shape: "EHG", bare: true, views: []view{
		stacked("ffn_gate_exps", 'H', 'F', width('F', 2), 2, 0, false), stacked("ffn_up_exps", 'H', 'F', width('F', 2), 2, 1, false),
	}, merged: columns('H', 'F', width('1', 1)), blocks: true},
	{hf: "mlp.experts.gate_up_proj_bias", shape: "EG", bare: true, views: []view{bySteps("ffn_gate_exps.bias", 0), bySteps("ffn_up_exps.bias", 1)},
		merged: &merged{turns: width('1', 1), back: func(c *config) []int64 { return []int64{dims['F'](c), 1} }}},
	{hf: "mlp.experts.down_proj", shape: "EFH", bare: true, views: []view{stacked("ffn_down_exps", 'F', 'H', width('H', 1), 1, 0, false)}, merged: columns('F', 'H', width('1', 1)), blocks: true},
	{hf: "mlp.experts.down_proj_bias", gguf: "ffn_down_exps.bias", shape: "EH", bare: true},
}

func bySteps(gguf string, first int64) view {
	return view{
		gguf:    gguf,
		shape:   func(c *config) []int64 { return []int64{c.experts(), dims['F'](c)} },
		strides: func(c *config) ([]int64, int64) { return []int64{2 * dims['F'](c), 2}, first },
	}
}

var gptossRow = row{
	arch: "gpt-oss", model: "gpt_oss", names: []string{"GptOssForCausalLM"}, mlx: mlxOss,
	defaults: []preset{
		{"vocab_size", "201088"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "64"},
		{"sliding_window", "128"}, {"num_local_experts", "128"}, {"num_experts_per_tok", "4"}, {"rope_theta", "150000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazily(func() []name {
		return decoder(with(ossExperts,
			name{hf: "self_attn.sinks", gguf: "attn_sinks", shape: "A", bare: true},
			name{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: "H"},
		)...)
	}),
	keys: gptossKeys, vocab: gpt2Vocab, back: gptossBack,
}

func gptossKeys(k *keys) {
	common(k)
	k.u32("attention.sliding_window", "sliding_window")
	k.u32("expert_feed_forward_length", "intermediate_size")
}

// Llama 4 has a mixture in every so many layers, the others are wider.
func interleaved(c *config, layer int64) bool {
	if list := c.get("moe_layers"); list.There {
		all := list.List()
		for i := range min(len(all), maxLayers) {
			if n, ok := all[i].Int(); ok && n == layer {
				return true
			}
		}
		return false
	}
	step := c.int("interleave_moe_layer_step")
	return step > 0 && (layer+1)%step == 0
}

func between(c *config, layer int64) bool { return !interleaved(c, layer) }

var llama4Row = row{
	arch: "llama4", model: "llama4_text", names: []string{"Llama4ForCausalLM", "Llama4ForConditionalGeneration"}, mlx: mlxLlama4,
	defaults: []preset{
		{"vocab_size", "202048"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"},
		{"interleave_moe_layer_step", "1"}, {"num_local_experts", "16"}, {"num_experts_per_tok", "1"}, {"rope_theta", "500000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazily(func() []name {
		return decoder(with([]name{
			ffnNorm,
			{hf: "feed_forward.gate_proj", gguf: "ffn_gate", shape: "UH", only: between},
			{hf: "feed_forward.up_proj", gguf: "ffn_up", shape: "UH", only: between},
			{hf: "feed_forward.down_proj", gguf: "ffn_down", shape: "HU", only: between},
		}, onlyIn(interleaved, []name{
			{hf: "feed_forward.router", gguf: "ffn_gate_inp", shape: "EH"},
			{hf: "feed_forward.experts.gate_up_proj", shape: "EHG", bare: true, views: []view{
				stacked("ffn_gate_exps", 'H', 'F', width('F', 2), 1, 0, true), stacked("ffn_up_exps", 'H', 'F', width('F', 2), 1, 1, true),
			}, merged: columns('H', 'F', width('F', 1))},
			{hf: "feed_forward.experts.down_proj", shape: "EFH", bare: true, views: []view{stacked("ffn_down_exps", 'F', 'H', width('H', 1), 1, 0, false)}, merged: columns('F', 'H', width('1', 1))},
			{hf: "feed_forward.shared_expert.gate_proj", gguf: "ffn_gate_shexp", shape: "FH"},
			{hf: "feed_forward.shared_expert.up_proj", gguf: "ffn_up_shexp", shape: "FH"},
			{hf: "feed_forward.shared_expert.down_proj", gguf: "ffn_down_shexp", shape: "HF"},
		})...)...)
	}),
	keys: llama4Keys, vocab: gpt2Vocab, back: llama4Back,
}

func llama4Keys(k *keys) {
	smollm3Keys(k)
	k.u32("feed_forward_length", "intermediate_size_mlp")
	k.u32("interleave_moe_layer_step", "interleave_moe_layer_step")
	k.u32("expert_feed_forward_length", "intermediate_size")
	kinds := k.c.get("layer_types").List()
	for _, v := range kinds {
		if k.err == nil {
			k.err = k.b.Step(1)
		}
		if v.String() != "full_attention" {
			return
		}
	}
	if len(kinds) > 0 {
		k.own("attention.sliding_window", uint32(0))
	}
}
