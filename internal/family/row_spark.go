package family

// sparkRow: Spark 2.5, whose attention has windows and a gate for each head.
var sparkRow = &row{
	arch: "spark2_5", model: "spark2_5", names: []string{"Spark2_5ForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}}, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with([]mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.q_k_v_proj", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "self_attn.g_proj", gguf: "attn_gate", shape: dims{Heads, Hidden}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			ffnNorm,
		}, mlp...)
	}),
	keys: func(k *keys) {
		common(k)
		k.requireMember("gate_attn_act_mode", "sigmoid")
		k.requireMember("headwise_attn_output_gate", "true")
		k.requireMember("hidden_act", "gelu")
		k.u32("vocab_size", "vocab_size")
		windowKeys(k, 0)
		k.turnedByKind()
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}

// turnedByKind adds how many elements of a head rotate in layers of full attention, and in those with a
// window.
func (k *keys) turnedByKind() {
	for _, kind := range [][2]string{{"full_attention", "rope.dimension_count"}, {"sliding_attention", "rope.dimension_count_swa"}} {
		one := k.c.get("rope_parameters", "rope_scaling").Get(kind[0])
		if !one.There {
			continue
		}
		part := 1.0
		if v := one.Get("partial_rotary_factor"); v.There {
			f, ok := v.Float()
			if !ok || !(f > 0 && f <= 1) {
				k.fail("partial_rotary_factor", v, "above 0 and at most 1")
				return
			}
			part = f
		}
		k.putArch(kind[1], uint32(part*float64(k.c.headDim())))
	}
}
