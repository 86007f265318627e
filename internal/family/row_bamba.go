package family

import (
	"cmp"
	"slices"
)

// bambaRow: Bamba, state spaces and attention as in Granite 4, with rotary embeddings and other names.
var bambaRow = &row{
	arch: "granitehybrid", model: "bamba", names: []string{"BambaForCausalLM"},
	defaults: []preset{{"vocab_size", "128000"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "262144"}, {"num_key_value_heads", "8"}, {"mamba_n_heads", "128"}, {"mamba_n_groups", "1"}, {"mamba_d_state", "256"}, {"mamba_d_conv", "4"}, {"mamba_expand", "2"}, {"rope_theta", "10000"}},
	outer:    []mapping{outer[0], {hf: "model.final_layernorm", gguf: "output_norm", shape: dims{Hidden}}, outer[2]}, layer: decoderLayer,
	layers: lazy(func() []mapping {
		list := slices.Concat(decoder()[:1], onlyIn(bambaAttends, permuted(decoder())[1:]), onlyIn(not(bambaAttends), mambaOfGranite), []mapping{
			{hf: "pre_ff_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "feed_forward.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		})
		return list
	}),
	keys: func(k *keys) {
		c := k.c
		graniteKeys(k)
		k.putArch("rope.dimension_count", uint32(c.hidden()/c.heads()))
		k.u32("ssm.conv_kernel", "mamba_d_conv")
		k.u32("ssm.state_size", "mamba_d_state")
		k.u32("ssm.group_count", "mamba_n_groups")
		k.putArch("ssm.inner_size", uint32(c.states()))
		k.u32("ssm.time_step_rank", "mamba_n_heads")
		if c.int("attn_rotary_emb") > 0 {
			k.u32("rope.dimension_count", "attn_rotary_emb")
		}
		k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 {
			if bambaAttends(c, l) {
				return c.kvHeads()
			}
			return 0
		}))
		k.putArch("rope.scaling.finetuned", true)
		k.requireMember("hidden_act", "silu")
	}, vocab: multipleOf8,

	mlx: mlxRow{none: notCompared},
}

// bambaAttends reports a layer of attention, whose numbers are listed.
func bambaAttends(c *config, layer int64) bool {
	list := c.get("attn_layer_indices").List()
	for i := range min(len(list), maxLayers) {
		if n, ok := list[i].Int(); ok && n == layer {
			return true
		}
	}
	return false
}
