package family

// minicpm3Row: DeepSeek's latent attention with unsplit matrices. llama.cpp has the
// factors built in.
var minicpm3Row = &row{
	arch: "minicpm3", model: "minicpm3", names: []string{"MiniCPM3ForCausalLM"}, tied: true,
	defaults: []preset{
		{"vocab_size", "73448"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "32768"}, {"kv_lora_rank", "256"}, {"q_lora_rank", "768"}, {"qk_nope_head_dim", "64"}, {"qk_rope_head_dim", "32"},
		{"scale_emb", "12"}, {"scale_depth", "1.4"}, {"dim_model_base", "256"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.q_a_proj", gguf: "attn_q_a", shape: dims{QRank, Hidden}},
			{hf: "self_attn.q_a_layernorm", gguf: "attn_q_a_norm", shape: dims{QRank}},
			{hf: "self_attn.q_b_proj", gguf: "attn_q_b", shape: dims{LatentQ, QRank}},
			{hf: "self_attn.kv_a_proj_with_mqa", gguf: "attn_kv_a_mqa", shape: dims{KVRankRope, Hidden}},
			{hf: "self_attn.kv_a_layernorm", gguf: "attn_kv_a_norm", shape: dims{KVRank}},
			{hf: "self_attn.kv_b_proj", gguf: "attn_kv_b", shape: dims{minicpm3KV, KVRank}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, minicpm3Values}},
			ffnNorm, mlp[0], mlp[1], mlp[2],
		}
	}),
	keys: minicpm3Keys, vocab: spmVocab,

	attention: attention{factors: longFactors(func(c *config, _ rope) int64 { return c.int("qk_rope_head_dim") })}, mlx: mlxRow{none: notCompared}, back: backward{members: minicpm3Back},
}

// valueDim returns the width of a head's values, by default the model's width over the
// number of heads.
func valueDim(c *config) int64 {
	if n := c.int("v_head_dim"); n > 0 {
		return n
	}
	return c.hidden() / c.heads()
}

func minicpm3KV(c *config) int64 { return c.heads() * (c.nope() + valueDim(c)) }

func minicpm3Values(c *config) int64 { return c.heads() * valueDim(c) }

func minicpm3Keys(k *keys) {
	k.u32("context_length", "max_position_embeddings")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	k.u32("vocab_size", "vocab_size")
	k.u32("attention.q_lora_rank", "q_lora_rank")
	k.u32("attention.kv_lora_rank", "kv_lora_rank")
	k.putArch("attention.key_length", uint32(k.c.nope()+k.c.int("qk_rope_head_dim")))
	k.putArch("rope.dimension_count", uint32(k.c.int("qk_rope_head_dim")))
	k.requireMember("hidden_act", "silu")
	for _, m := range []string{"attention_bias", "mlp_bias"} {
		k.requireMember(m, "false")
	}
	k.requireMember("scale_emb", "12")
	k.requireMember("dim_model_base", "256")
	if f, ok := k.c.get("scale_depth").Float(); !ok || f != 1.4 {
		k.fail("scale_depth", k.c.get("scale_depth"), "1.4, as llama.cpp assumes for MiniCPM 3")
	}
	if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
		k.fail("rope_theta", k.c.rope().theta, "10000, as llama.cpp assumes for MiniCPM 3")
	}
	if valueDim(k.c) != k.c.hidden()/k.c.heads() {
		k.fail("v_head_dim", k.c.get("v_head_dim"), "hidden_size / num_attention_heads, as llama.cpp assumes for MiniCPM 3")
	}
	if n := k.c.kvHeads(); n != k.c.heads() {
		k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of attention heads")
	}
}

func minicpm3Back(s *settings) {
	s.statedMembers()
	s.vocabulary()
	s.requireInt("q_lora_rank", "attention.q_lora_rank")
	s.requireInt("kv_lora_rank", "attention.kv_lora_rank")
	rotated := s.requireInt("qk_rope_head_dim", "rope.dimension_count")
	n, ok := s.int("attention.key_length")
	if !ok || n <= rotated {
		s.fail("minicpm3.attention.key_length", "its value is %d, of which %d rotate", n, rotated)
	}
	s.putInt("qk_nope_head_dim", n-rotated)
	s.put("scale_emb", "12")
	s.put("scale_depth", "1.4")
	s.put("dim_model_base", "256")
	s.put("rope_theta", "10000.0")
	s.put("hidden_act", `"silu"`)
}
