package family

import (
	"math"
	"slices"
)

// grokRow: Grok 1 under the names of its conversion to transformers; grok2Row: Grok 2, with a feed-forward layer
// beside the experts.
var grokRow = &row{
	arch: "grok", model: "grok", names: []string{"GrokForCausalLM"}, tied: true,
	defaults: grokDefaults,
	outer: []mapping{
		{hf: "transformer.in_out_embed", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.rms_norm", gguf: "output_norm", shape: dims{Hidden}},
		outer[2],
	},
	layer: "transformer.decoder_layer.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "rms_norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "multi_head_attention.query", gguf: "attn_q", shape: dims{Q, Hidden}},
			{hf: "multi_head_attention.key", gguf: "attn_k", shape: dims{KV, Hidden}},
			{hf: "multi_head_attention.value", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "multi_head_attention.linear", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "rms_norm_1", gguf: "attn_output_norm", shape: dims{Hidden}},
			{hf: "rms_norm_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "rms_norm_3", gguf: "layer_output_norm", shape: dims{Hidden}},
			{hf: "router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "moe.*.linear", gguf: "ffn_gate_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
			{hf: "moe.*.linear_1", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
			{hf: "moe.*.linear_v", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
		}
	}),
	keys: grokKeys, vocab: spmOrBytes,

	naming: naming{numbered: []string{"moe."}}, mlx: mlxRow{none: notCompared},
}

var grok2Row = &row{
	arch: "grok", model: "grok_1", names: []string{"Grok1ForCausalLM"}, tied: true,
	defaults: grokDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat(decoder()[1:], mlp, []mapping{
			{hf: "pre_attn_norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "post_attn_norm", gguf: "attn_output_norm", shape: dims{Hidden}},
			{hf: "pre_moe_norm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "post_moe_norm", gguf: "post_ffw_norm", shape: dims{Hidden}},
			{hf: "block_sparse_moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "block_sparse_moe.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
			{hf: "block_sparse_moe.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
			{hf: "block_sparse_moe.experts.*.w3", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
		})
	}),
	keys: grokKeys, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared},
}

var grokDefaults = []preset{{"vocab_size", "131072"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}, {"attn_logit_softcapping", "30"}, {"router_logit_softcapping", "30"}}

func grokKeys(k *keys) {
	c := k.c
	common(k)
	k.f32("attn_logit_softcapping", "attn_logit_softcapping")
	k.f32("router_logit_softcapping", "router_logit_softcapping")
	if f, ok := c.get("final_logit_softcapping").Float(); ok && f != 0 {
		k.f32("final_logit_softcapping", "final_logit_softcapping")
	}
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	if kind := c.get("rope_type").String(); kind == "yarn" || kind == "original" {
		k.putArch("rope.scaling.type", "yarn")
		k.u32("rope.scaling.original_context_length", "original_max_position_embeddings")
		for _, m := range [][2]string{{"factor", "scaling_factor"}, {"yarn_ext_factor", "extrapolation_factor"}, {"yarn_attn_factor", "attn_factor"}, {"yarn_beta_fast", "beta_fast"}, {"yarn_beta_slow", "beta_slow"}} {
			k.f32("rope.scaling."+m[0], m[1])
		}
	}
	if c.int("attn_temperature_len") > 0 {
		k.u32("attention.temperature_length", "attn_temperature_len")
	}
	k.putArch("attention.output_scale", float32(math.Pow(float64(c.headDim()), -0.5)))
	k.f32("attention.output_scale", "attn_output_multiplier")
	for _, m := range [][2]string{{"embedding_scale", "embedding_multiplier_scale"}, {"logit_scale", "output_multiplier_scale"}} {
		if !c.get(m[1]).There {
			k.fail(m[1], c.get(m[1]), "a number")
		}
		k.f32(m[0], m[1])
	}
}
