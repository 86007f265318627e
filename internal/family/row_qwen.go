package family

// Qwen's queries and keys are not permuted.
var (
	headNorms = []mapping{
		{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Head}},
		{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{Head}},
	}
	experts = []mapping{
		{hf: "mlp.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
		{hf: "mlp.experts.*.gate_proj", gguf: "ffn_gate_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
		{hf: "mlp.experts.*.up_proj", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
		{hf: "mlp.experts.*.down_proj", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
	}
	sharedExpert = []mapping{
		{hf: "mlp.shared_expert.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedFFN, Hidden}},
		{hf: "mlp.shared_expert.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedFFN, Hidden}},
		{hf: "mlp.shared_expert.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedFFN}},
		{hf: "mlp.shared_expert_gate", gguf: "ffn_gate_inp_shexp", shape: dims{One, Hidden}},
	}
	qwenDefaults = []preset{{"vocab_size", "151936"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "10000"}}
)

var qwen2Row = &row{
	arch: "qwen2", model: "qwen2", names: []string{"Qwen2ForCausalLM", "Qwen2Model"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: qwenKeys, vocab: spmOrBytes,

	naming: naming{headless: []string{"Qwen2Model"}, optionalPrefix: "model."}, back: backward{members: qwen2Back},
}

var qwen3Row = &row{
	arch: "qwen3", model: "qwen3", names: []string{"Qwen3ForCausalLM", "Qwen3Model"},
	defaults: qwenPresets(preset{"head_dim", "128"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(mlp, ffnNorm), headNorms...)...)
	}),
	keys: qwenKeys, vocab: spmOrBytes,

	naming: naming{headless: []string{"Qwen3Model"}, optionalPrefix: "model."}, classifier: classifier{reranks: true}, back: backward{members: qwen3Back},
}

var qwen2moeRow = &row{
	arch: "qwen2moe", model: "qwen2_moe", names: []string{"Qwen2MoeForCausalLM"},
	defaults: qwenPresets(preset{"num_experts", "60"}, preset{"num_experts_per_tok", "4"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, ffnNorm), sharedExpert...)...)
	}),
	keys: qwenMoeKeys, vocab: gpt2Vocab,

	back: backward{members: qwen2moeBack},
}

var qwen3moeRow = &row{
	arch: "qwen3moe", model: "qwen3_moe", names: []string{"Qwen3MoeForCausalLM"},
	defaults: qwenPresets(preset{"num_experts", "128"}, preset{"num_experts_per_tok", "8"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(experts, ffnNorm), headNorms...)...)
	}),
	keys: qwenMoeKeys, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"mlp.gate"}}, back: backward{members: qwen3moeBack},
}

func qwenPresets(more ...preset) []preset {
	return append(qwenDefaults[:len(qwenDefaults):len(qwenDefaults)], more...)
}

// qwenKeys adds the keys of every decoder, and the pooling of embedding models.
func qwenKeys(k *keys) {
	common(k)
	if err := k.pooling(); err != nil && k.err == nil {
		k.err = err
	}
	k.rankKeys()
}

func qwenMoeKeys(k *keys) {
	common(k)
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_feed_forward_length", "shared_expert_intermediate_size")
}
