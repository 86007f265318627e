package family

import (
	"cmp"
	"slices"
)

// mimo2Row: MiMo V2, a mixture whose layers with an attention window have other heads of keys and sinks.
// The converter always counts three layers that predict further tokens, and so do its files.
var mimo2Row = &row{
	arch: "mimo2", model: "mimo_v2_flash", names: []string{"MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "262144"}, {"layernorm_epsilon", "1e-05"}, {"rope_theta", "5000000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		keys := func(c *config, l int64) int64 { return mimoKeys(c, l) * c.headDim() }
		values := func(c *config, l int64) int64 { return mimoKeys(c, l) * c.int("v_head_dim") }
		return slices.Concat([]mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}, inLayer: not(mimoJoined)},
			{hf: "self_attn.k_proj", gguf: "attn_k", shapeOf: func(c *config, l int64) []int64 { return []int64{keys(c, l), c.hidden()} }, inLayer: not(mimoJoined)},
			{hf: "self_attn.v_proj", gguf: "attn_v", shapeOf: func(c *config, l int64) []int64 { return []int64{values(c, l), c.hidden()} }, inLayer: not(mimoJoined)},
			{hf: "self_attn.qkv_proj", gguf: "attn_qkv", shapeOf: func(c *config, l int64) []int64 { return []int64{Q(c) + keys(c, l) + values(c, l), c.hidden()} }, inLayer: mimoJoined},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, LatentV}},
			{hf: "self_attn.attention_sink_bias", gguf: "attn_sinks", shape: dims{Heads}, noSuffix: true, inLayer: mimoSinks},
			ffnNorm,
		}, onlyIn(mimoDense, mlp), onlyIn(not(mimoDense), with(experts,
			mapping{hf: "mlp.gate.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
		)), glmMTP[:3], onlyIn(isMTPLayer, []mapping{{hf: "final_layernorm", gguf: "layer_output_norm", shape: dims{Hidden}}}))
	}),
	keys: func(k *keys) {
		common(k)
		for _, m := range [][2]string{{"swa_head_dim", "head_dim"}, {"swa_num_attention_heads", "num_attention_heads"}, {"swa_v_head_dim", "v_head_dim"}} {
			if k.c.int(m[0]) != k.c.int(m[1]) {
				k.fail(m[0], k.c.get(m[0]), "equal to "+m[1]+", as llama.cpp assumes")
			}
		}
		k.requireMember("topk_method", "noaux_tc")
		if v := k.c.root.Get("quantization_config"); v.There && mimoJoined(k.c, 0) {
			k.fail("quantization_config", v, "absent where queries, keys and values are one matrix: its rows are those of several devices, one after the other")
		}
		k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 { return mimoKeys(k.c, l) }))
		k.u32("attention.sliding_window", "sliding_window")
		k.err = cmp.Or(k.err, k.putPerLayer("attention.sliding_window_pattern", func(l int64) int64 {
			if mimoWindow(k.c, l) {
				return 1
			}
			return 0
		}))
		k.u32("attention.value_length", "v_head_dim")
		k.u32("expert_count", "n_routed_experts")
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.headDim(), 1)))
		k.f32("attention.layer_norm_rms_epsilon", "layernorm_epsilon")
		k.f32("attention.value_scale", "attention_value_scale")
		k.putArch("nextn_predict_layers", uint32(mimoAhead))
	}, vocab: gpt2Vocab,

	naming: naming{asked: []string{"self_attn.qkv_proj.weight"}, otherParts: []string{"visual.", "audio_encoder.", "speech_embeddings."}},
	ahead:  ahead{optional: true, apart: true, count: func(*config) int64 { return mimoAhead }}, mlx: mlxRow{none: notCompared},
}

const mimoAhead = 3

// mimoJoined reports that queries, keys and values are one matrix.
func mimoJoined(c *config, _ int64) bool { return c.stores("self_attn.qkv_proj.weight") }

// mimoWindow reports a layer with an attention window; those that predict further tokens have one.
func mimoWindow(c *config, layer int64) bool {
	if isMTPLayer(c, layer) {
		return true
	}
	list := c.get("hybrid_layer_pattern").List()
	if layer >= int64(len(list)) {
		return false
	}
	n, _ := list[layer].Int()
	return n == 1
}

func mimoKeys(c *config, layer int64) int64 {
	if mimoWindow(c, layer) {
		return c.int("swa_num_key_value_heads")
	}
	return c.int("num_key_value_heads")
}

func mimoSinks(c *config, layer int64) bool {
	if mimoWindow(c, layer) {
		return c.bool("add_swa_attention_sink_bias", true)
	}
	return c.bool("add_full_attention_sink_bias", false)
}

func mimoDense(c *config, layer int64) bool {
	if isMTPLayer(c, layer) {
		return true
	}
	list := c.get("moe_layer_freq").List()
	if layer >= int64(len(list)) {
		return false
	}
	n, _ := list[layer].Int()
	return n == 0
}
