package family

// plmRow: PLM, with DeepSeek's latent keys and values, and a feed-forward layer without a gate.
var plmRow = &row{
	arch: "plm", model: "plm", names: []string{"PLMForCausalLM"}, tied: true,
	defaults: deepseekDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{LatentQ, Hidden}},
			{hf: "self_attn.kv_a_proj_with_mqa", gguf: "attn_kv_a_mqa", shape: dims{KVRankRope, Hidden}},
			{hf: "self_attn.kv_a_layernorm", gguf: "attn_kv_a_norm", shape: dims{KVRank}},
			{hf: "self_attn.kv_b_proj", gguf: "attn_kv_b", shape: dims{LatentKV, KVRank}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, LatentV}},
			ffnNorm, mlp[1], mlp[2],
		}
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		k.u32("attention.kv_lora_rank", "kv_lora_rank")
		k.putArch("attention.key_length", uint32(k.c.nope()+k.c.int("qk_rope_head_dim")))
		k.u32("attention.value_length", "v_head_dim")
		k.u32("rope.dimension_count", "qk_rope_head_dim")
		if v := k.c.get("q_lora_rank"); v.There {
			k.fail("q_lora_rank", v, "null, as llama.cpp assumes for PLM")
		}
		k.requireMember("hidden_act", "relu2")
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}
