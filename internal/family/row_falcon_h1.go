package family

// Falcon-H1 has attention and a state space side by side in each layer, and numbers that
// its weights are multiplied by, which llama.cpp has in the weights.

var (
	intoAttention = factor("attention_in_multiplier", -1)
	falconMLP     = []mapping{
		{hf: "feed_forward.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}, factors: times(factor("mlp_multipliers", 0))},
		{hf: "feed_forward.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
		{hf: "feed_forward.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}, factors: times(factor("mlp_multipliers", 1))},
	}
)

// ssmIn are the rows that make gates, what the state takes in, its two projections, and
// the steps of time.
func ssmIn(c *config) (list []cut) {
	at := int64(0)
	for i, n := range []int64{c.states(), c.states(), c.groupStates(), c.groupStates(), c.int("mamba_n_heads")} {
		list = append(list, cut{first: at, rows: n, times: times(factor("ssm_in_multiplier", -1), factor("ssm_multipliers", i))})
		at += n
	}
	return list
}

var falconH1Row = &row{
	arch: "falcon-h1", model: "falcon_h1", names: []string{"FalconH1ForCausalLM"},
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}, factors: times(factor("embedding_multiplier", -1))},
		{hf: "model.final_layernorm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}, factors: times(factor("lm_head_multiplier", -1))},
	},
	layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with([]mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "pre_ff_layernorm", gguf: "ffn_norm", shape: dims{Hidden}, ggufNoSuffix: true},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}, factors: times(intoAttention)},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}, factors: times(factor("key_multiplier", -1), intoAttention)},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}, factors: times(intoAttention)},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}, factors: times(factor("attention_out_multiplier", -1))},
			{hf: "mamba.A_log", shape: dims{SSMHeads}, noSuffix: true, op: decay, views: columnView("ssm_a", SSMHeads), join: onlyView},
			{hf: "mamba.D", shape: dims{SSMHeads}, noSuffix: true, views: columnView("ssm_d", SSMHeads), join: onlyView},
			{hf: "mamba.dt_bias", gguf: "ssm_dt.bias", shape: dims{SSMHeads}, noSuffix: true},
			{hf: "mamba.conv1d", shape: dims{SSMConv, One, SSMKernel}, views: squeezedView("ssm_conv1d", SSMConv, SSMKernel), join: onlyView},
			{hf: "mamba.in_proj", shape: dims{SSMIn, Hidden}, views: []view{rowsOf("ssm_in", ssmIn)}},
			{hf: "mamba.out_proj", gguf: "ssm_out", shape: dims{Hidden, States}, factors: times(factor("ssm_out_multiplier", -1))},
			{hf: "mamba.norm", shape: dims{States}, optional: true, views: []view{groupedNorm}, join: onlyView},
		}, falconMLP...)
	}),
	keys: falconH1Keys, vocab: gpt2Vocab,

	mlx: mlxRow{none: "mlx-lm stores its weights multiplied by factors"}, back: backward{left: "the multipliers of weights, which are 1 in config.json", members: falconH1Back},
}

func falconH1Keys(k *keys) {
	head := k.c.int("mamba_d_head")
	if head < 1 || k.c.states()%head != 0 || !k.c.get("head_dim").There {
		k.fail("mamba_d_head", k.c.get("mamba_d_head"), "a part of mamba_d_ssm, with head_dim beside it")
		return
	}
	if v := k.c.get("mamba_norm_before_gate"); k.c.bool("mamba_rms_norm", false) && k.c.bool("mamba_norm_before_gate", true) {
		k.fail("mamba_norm_before_gate", v, "false: llama.cpp applies the norm after the gate")
		return
	}
	k.u32("context_length", "max_position_embeddings")
	k.u32("embedding_length", "hidden_size")
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("vocab_size", "vocab_size")
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.u32("attention.key_length", "head_dim")
	k.u32("attention.value_length", "head_dim")
	k.u32("ssm.conv_kernel", "mamba_d_conv")
	k.u32("ssm.inner_size", "mamba_d_ssm")
	k.u32("ssm.state_size", "mamba_d_state")
	k.putArch("ssm.time_step_rank", uint32(k.c.states()/head))
	k.u32("ssm.group_count", "mamba_n_groups")
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	k.number("rope.freq_base", "rope_theta", k.c.rope().theta)
	if act := k.c.get("hidden_act"); act.There && act.String() != "silu" {
		k.fail("hidden_act", act, "silu")
	}
}

// falconH1Back puts the members of the model as llama.cpp has it: its weights are
// multiplied already, so all factors are 1.
func falconH1Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("mamba_d_conv", "ssm.conv_kernel")
	s.requireInt("mamba_d_state", "ssm.state_size")
	s.requireInt("mamba_n_groups", "ssm.group_count")
	inner := s.requireInt("mamba_d_ssm", "ssm.inner_size")
	if n := s.requireInt("mamba_n_heads", "ssm.time_step_rank"); n < 1 || inner%n != 0 {
		s.fail("falcon-h1.ssm.inner_size", "its value is %d, for %d heads", inner, n)
	} else {
		s.putInt("mamba_d_head", inner/n)
	}
	s.put("mamba_rms_norm", boolText(s.tensors["blk.0.ssm_norm.weight"] != nil))
	s.put("mamba_norm_before_gate", "false")
	s.biased("mamba_conv_bias", "ssm_conv1d")
	s.biased("mamba_proj_bias", "ssm_in", "ssm_out")
	s.biased("attention_bias", projections...)
	s.biased("mlp_bias", feed...)
	for _, m := range []string{
		"attention_in_multiplier", "attention_out_multiplier", "ssm_in_multiplier", "ssm_out_multiplier", "key_multiplier", "lm_head_multiplier", "embedding_multiplier",
	} {
		s.put(m, "1.0")
	}
	s.put("mlp_multipliers", "[1.0, 1.0]")
	s.put("ssm_multipliers", "[1.0, 1.0, 1.0, 1.0, 1.0]")
	s.put("hidden_act", `"silu"`)
}
