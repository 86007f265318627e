package family

var mlxOss = &mlxForm{names: map[string]string{
	"ffn_gate_exps": "mlp.experts.gate_proj", "ffn_up_exps": "mlp.experts.up_proj", "ffn_down_exps": "mlp.experts.down_proj",
	"ffn_gate_exps.bias": "mlp.experts.gate_proj.bias", "ffn_up_exps.bias": "mlp.experts.up_proj.bias", "ffn_down_exps.bias": "mlp.experts.down_proj.bias",
}}

// ossExperts: rows of gate and up_proj alternate.
var ossExperts = []mapping{
	{hf: "mlp.router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "mlp.experts.gate_up_proj", shape: dims{Experts, Hidden, GateUp}, noSuffix: true, views: []view{
		expertView("ffn_gate_exps", Hidden, FFN, double(FFN), 2, 0, false), expertView("ffn_up_exps", Hidden, FFN, double(FFN), 2, 1, false),
	}, interleave: transposedStack(Hidden, FFN, One), mayKeepBlocks: true},
	{hf: "mlp.experts.gate_up_proj_bias", shape: dims{Experts, GateUp}, noSuffix: true, views: []view{stridedBias("ffn_gate_exps.bias", 0), stridedBias("ffn_up_exps.bias", 1)},
		interleave: &interleaving{turns: One, strides: func(c *config) []int64 { return []int64{FFN(c), 1} }}},
	{hf: "mlp.experts.down_proj", shape: dims{Experts, FFN, Hidden}, noSuffix: true, views: []view{expertView("ffn_down_exps", FFN, Hidden, Hidden, 1, 0, false)}, interleave: transposedStack(FFN, Hidden, One), mayKeepBlocks: true},
	{hf: "mlp.experts.down_proj_bias", gguf: "ffn_down_exps.bias", shape: dims{Experts, Hidden}, noSuffix: true},
}

func stridedBias(gguf string, first int64) view {
	return view{
		gguf:    gguf,
		shape:   func(c *config) []int64 { return []int64{c.experts(), FFN(c)} },
		strides: func(c *config) ([]int64, int64) { return []int64{2 * FFN(c), 2}, first },
	}
}

var gptossRow = &row{
	arch: "gpt-oss", model: "gpt_oss", names: []string{"GptOssForCausalLM"},
	defaults: []preset{
		{"vocab_size", "201088"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "64"},
		{"sliding_window", "128"}, {"num_local_experts", "128"}, {"num_experts_per_tok", "4"}, {"rope_theta", "150000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(ossExperts,
			mapping{hf: "self_attn.sinks", gguf: "attn_sinks", shape: dims{Heads}, noSuffix: true},
			mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
		)...)
	}),
	biased: []string{"attn_output", "ffn_gate_inp"},
	keys:   gptossKeys, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"router"}, form: mlxOss}, back: backward{members: gptossBack},
}

func gptossKeys(k *keys) {
	common(k)
	k.u32("attention.sliding_window", "sliding_window")
	k.u32("expert_feed_forward_length", "intermediate_size")
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
