package family

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

var mlxGraniteMoe = &mlxForm{names: map[string]string{
	"ffn_gate_exps": "block_sparse_moe.switch_mlp.gate_proj", "ffn_up_exps": "block_sparse_moe.switch_mlp.up_proj", "ffn_down_exps": "block_sparse_moe.switch_mlp.down_proj",
}}

var graniteRow = &row{
	arch: "granite", model: "granite", names: []string{"GraniteForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: graniteKeys, vocab: llamaVocab,

	mlx: mlxRow{eight: []string{"self_attn.o_proj", "mlp.down_proj", "lm_head"}}, back: backward{members: graniteBack, matches: func(s *settings) bool { return !s.isHybrid() }},
}

// graniteKeys adds Llama's keys and Granite's factors.
func graniteKeys(k *keys) {
	smollm3Keys(k)
	for _, m := range [][2]string{
		{"attention.scale", "attention_multiplier"}, {"embedding_scale", "embedding_multiplier"},
		{"residual_scale", "residual_multiplier"}, {"logit_scale", "logits_scaling"},
	} {
		if f, ok := k.c.get(m[1]).Float(); ok && f != 0 {
			k.f32(m[0], m[1])
		}
	}
}

var graniteExperts = []mapping{
	{hf: "block_sparse_moe.router.layer", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "block_sparse_moe.input_linear", shape: dims{Experts, GateUp, Hidden}, views: []view{halfOf("ffn_gate_exps", 0), halfOf("ffn_up_exps", 1)}, join: halves},
	{hf: "block_sparse_moe.output_linear", gguf: "ffn_down_exps", shape: dims{Experts, Hidden, FFN}},
}

// graniteShared: the gate's rows come before those of up_proj.
var graniteShared = []mapping{
	{hf: "shared_mlp.input_linear", shape: dims{SharedGateUp, Hidden}, views: []view{
		{gguf: "ffn_gate_shexp", cuts: func(c *config) []cut { return []cut{{first: 0, rows: SharedGateUp(c) / 2}} }},
		{gguf: "ffn_up_shexp", cuts: func(c *config) []cut { return []cut{{first: SharedGateUp(c) / 2, rows: SharedGateUp(c) / 2}} }},
	}},
	{hf: "shared_mlp.output_linear", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedDense}},
}

var graniteMoeDefaults = []preset{
	{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"num_local_experts", "8"}, {"num_experts_per_tok", "2"}, {"rope_theta", "10000"},
}

var graniteMoeRow = &row{
	arch: "granitemoe", model: "granitemoe", names: []string{"GraniteMoeForCausalLM"},
	defaults: graniteMoeDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(graniteExperts, ffnNorm)...))
	}),
	keys: graniteKeys, vocab: llamaVocab,

	mlx: mlxRow{eight: []string{"block_sparse_moe.router.layer", "self_attn.o_proj", "mlp.down_proj", "lm_head"}, form: mlxGraniteMoe}, back: backward{members: graniteMoeBack, matches: func(s *settings) bool { return s.tensors["blk.0.ffn_gate_shexp.weight"] == nil && !s.isHybrid() }},
}

var graniteMoeSharedRow = &row{
	arch: "granitemoe", model: "granitemoeshared", names: []string{"GraniteMoeSharedForCausalLM"},
	defaults: graniteMoeDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(with(graniteExperts, ffnNorm), graniteShared...)...))
	}),
	keys: func(k *keys) {
		graniteKeys(k)
		k.u32("expert_shared_feed_forward_length", "shared_intermediate_size")
	}, vocab: llamaVocab,

	mlx: mlxRow{none: "mlx-lm has other names for its experts"}, back: backward{members: func(s *settings) {
		graniteMoeBack(s)
		s.requireInt("shared_intermediate_size", "expert_shared_feed_forward_length")
	}, matches: func(s *settings) bool { return s.tensors["blk.0.ffn_gate_shexp.weight"] != nil && !s.isHybrid() }},
}

func graniteBack(s *settings) {
	llamaBack(s)
	s.graniteFactors()
}

func graniteMoeBack(s *settings) {
	graniteBack(s)
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
}
