package family

import (
	"cmp"
	"slices"
)

// kimiLinearRow: Kimi Linear, layers of linear attention (KDA) between layers of latent attention, and experts.
var kimiLinearRow = &row{
	arch: "kimi-linear", model: "kimi_linear", names: []string{"KimiLinearModel", "KimiLinearForCausalLM"},
	defaults: []preset{{"vocab_size", "163840"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"rope_theta", "10000"}, {"moe_router_activation_func", `"sigmoid"`}, {"routed_scaling_factor", "1"}, {"first_k_dense_replace", "0"}, {"num_shared_experts", "1"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		full := slices.DeleteFunc(mla(), func(m mapping) bool { return m.gguf == "attn_norm" || m.gguf == "ffn_norm" })
		for i := 0; i < len(full); i++ {
			which := full[i].inLayer
			full[i].inLayer = func(c *config, l int64) bool { return kdaFull(c, l) && (which == nil || which(c, l)) }
		}
		at := "block_sparse_moe.shared_experts."
		return slices.Concat(mla()[:1], []mapping{ffnNorm}, full, onlyIn(not(kdaFull), kdaLayer(decay, One, One, kdaHeads, One)), onlyIn(isDense, mlp), onlyIn(isMixture, []mapping{
			{hf: "block_sparse_moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "block_sparse_moe.gate.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
			{hf: "block_sparse_moe.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
			{hf: "block_sparse_moe.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
			{hf: "block_sparse_moe.experts.*.w3", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
			{hf: at + "gate_proj", gguf: "ffn_gate_shexp", shape: dims{sharedCount, Hidden}},
			{hf: at + "up_proj", gguf: "ffn_up_shexp", shape: dims{sharedCount, Hidden}},
			{hf: at + "down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, sharedCount}},
		}))
	}),
	keys: kimiLinearKeys, vocab: deepseekVocab,

	naming: naming{optionalPrefix: "model."}, mlx: mlxRow{none: notCompared},
}

func kimiLinearKeys(k *keys) {
	c := k.c
	common(k)
	k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 {
		if kdaFull(c, l) {
			return 1
		}
		return 0
	}))
	k.u32("vocab_size", "vocab_size")
	linear := c.get("linear_attn_config")
	k.putArch("ssm.conv_kernel", uint32(kdaKernel(c)))
	k.putArch("kda.head_dim", uint32(kdaHead(c)))
	if sizeIn(linear, "num_heads") != c.heads() {
		k.fail("linear_attn_config", linear, "with as many heads as the other layers have, as llama.cpp assumes")
	}
	k.u32("attention.q_lora_rank", "q_lora_rank")
	k.u32("attention.kv_lora_rank", "kv_lora_rank")
	rotated := c.int("qk_rope_head_dim")
	k.putArch("rope.dimension_count", uint32(rotated))
	k.putArch("attention.key_length", uint32(c.int("kv_lora_rank")+rotated))
	k.putArch("attention.key_length_mla", uint32(c.nope()+rotated))
	k.u32("attention.value_length_mla", "v_head_dim")
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_count", "num_shared_experts")
	k.u32("leading_dense_block_count", "first_k_dense_replace")
	k.f32("expert_weights_scale", "routed_scaling_factor")
}

// kdaFull reports a layer of latent attention. The configuration counts layers from one.
func kdaFull(c *config, layer int64) bool {
	list := c.get("linear_attn_config").Get("full_attn_layers").List()
	for i := range min(len(list), maxLayers) {
		if n, ok := list[i].Int(); ok && n == layer+1 {
			return true
		}
	}
	return false
}

func kdaHeads(c *config) int64 { return sizeIn(c.get("linear_attn_config"), "num_heads") }

func kdaHead(c *config) int64 { return sizeIn(c.get("linear_attn_config"), "head_dim") }

func kdaWide(c *config) int64 {
	if kdaHeads(c) > 1<<16 {
		return 0 // no tensor has this shape
	}
	return kdaHeads(c) * kdaHead(c)
}

func kdaKernel(c *config) int64 { return sizeIn(c.get("linear_attn_config"), "short_conv_kernel_size") }

func kdaConv(c *config, _ int64) []int64 { return []int64{kdaWide(c), 1, kdaKernel(c)} }

// kdaLayer are the tensors of a layer of linear attention; rates is the shape of what decays.
func kdaLayer(exp transform, rates ...size) []mapping {
	conv := func(name string) mapping {
		return mapping{hf: "self_attn." + name + "_conv1d", shapeOf: kdaConv, views: []view{{
			gguf:  "ssm_conv1d_" + name,
			shape: func(c *config) []int64 { return []int64{1, kdaWide(c), 1, kdaKernel(c)} },
			strides: func(c *config) ([]int64, int64) {
				return []int64{kdaWide(c) * kdaKernel(c), kdaKernel(c), kdaKernel(c), 1}, 0
			},
		}}}
	}
	return []mapping{
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{kdaWide, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{kdaWide, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{kdaWide, Hidden}},
		conv("q"), conv("k"), conv("v"),
		{hf: "self_attn.A_log", gguf: "ssm_a", shape: rates, noSuffix: true, ggufNoSuffix: true, op: exp},
		{hf: "self_attn.dt_bias", gguf: "ssm_dt.bias", shape: dims{kdaWide}, noSuffix: true},
		{hf: "self_attn.f_a_proj", gguf: "ssm_f_a", shape: dims{kdaHead, Hidden}},
		{hf: "self_attn.f_b_proj", gguf: "ssm_f_b", shape: dims{kdaWide, kdaHead}},
		{hf: "self_attn.b_proj", gguf: "ssm_beta", shape: dims{kdaHeads, Hidden}},
		{hf: "self_attn.g_a_proj", gguf: "ssm_g_a", shape: dims{kdaHead, Hidden}},
		{hf: "self_attn.g_b_proj", gguf: "ssm_g_b", shape: dims{kdaWide, kdaHead}},
		{hf: "self_attn.o_norm", gguf: "ssm_norm", shape: dims{kdaHead}},
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, kdaWide}},
	}
}
