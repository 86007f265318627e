package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Each layer of Nemotron-H is one of: a state space, attention, a feed-forward layer without
// a gate, experts.

// blockOf returns the type of a layer as a letter of hybrid_override_pattern.
func blockOf(c *config, layer int64) byte {
	pattern := c.get("hybrid_override_pattern")
	if text := pattern.String(); pattern.IsString() {
		if layer < int64(len(text)) {
			return text[layer]
		}
		return 0
	}
	list := c.get("layers_block_type", "layer_types").List()
	if layer >= int64(len(list)) {
		return 0
	}
	switch list[layer].String() {
	case "mamba", "linear_attention":
		return 'M'
	case "attention", "full_attention":
		return '*'
	case "mlp":
		return '-'
	case "moe":
		return 'E'
	}
	return 0
}

func block(kind byte) func(*config, int64) bool {
	return func(c *config, layer int64) bool { return blockOf(c, layer) == kind }
}

var nemotronHOuter = []mapping{
	{hf: "backbone.embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
	{hf: "backbone.norm_f", gguf: "output_norm", shape: dims{Hidden}},
	{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
}

// nemotronHLayers returns the tensors of all types of layers.
func nemotronHLayers() []mapping {
	return slices.Concat([]mapping{
		{hf: "norm", gguf: "attn_norm", shape: dims{Hidden}},
	}, onlyIn(block('M'), []mapping{
		{hf: "mixer.A_log", shape: dims{SSMHeads}, noSuffix: true, op: decay, views: columnView("ssm_a", SSMHeads), join: onlyView},
		{hf: "mixer.D", shape: dims{SSMHeads}, noSuffix: true, views: columnView("ssm_d", SSMHeads), join: onlyView},
		{hf: "mixer.dt_bias", gguf: "ssm_dt.bias", shape: dims{SSMHeads}, noSuffix: true},
		{hf: "mixer.conv1d", shape: dims{SSMConv, One, SSMKernel}, views: squeezedView("ssm_conv1d", SSMConv, SSMKernel), join: onlyView},
		{hf: "mixer.in_proj", gguf: "ssm_in", shape: dims{SSMIn, Hidden}},
		{hf: "mixer.out_proj", gguf: "ssm_out", shape: dims{Hidden, States}},
		{hf: "mixer.norm", shape: dims{States}, views: []view{groupedNorm}, join: onlyView},
	}), onlyIn(block('*'), permuted([]mapping{
		{hf: "mixer.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
		{hf: "mixer.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
		{hf: "mixer.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
		{hf: "mixer.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
	})), onlyIn(block('-'), []mapping{
		{hf: "mixer.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
		{hf: "mixer.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
	}))
}

var nemotronHExperts = onlyIn(block('E'), []mapping{
	{hf: "mixer.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "mixer.gate.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
	{hf: "mixer.experts.*.up_proj", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
	{hf: "mixer.experts.*.down_proj", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
	{hf: "mixer.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedFFN, Hidden}},
	{hf: "mixer.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedFFN}},
})

var nemotronHRow = &row{
	arch: "nemotron_h", model: "nemotron_h", names: []string{"NemotronHForCausalLM"},
	defaults: []preset{{"vocab_size", "131072"}, {"max_position_embeddings", "4096"}, {"head_dim", "128"}, {"num_key_value_heads", "8"}},
	outer:    nemotronHOuter, layer: "backbone.layers.#.", choose: nemotronHKind,
	layers: lazy(nemotronHLayers),
	keys: func(k *keys) {
		nemotronHKeys(k)
		wide := uint32(k.c.int("intermediate_size"))
		k.blocks("feed_forward_length", '-', wide)
	}, vocab: multipleOf8,

	mlx: mlxRow{form: mlxNemotronH}, back: backward{members: nemotronHBack(false)},
}

// nemotronHKind returns the row of a mixture.
func nemotronHKind(c *config) *row {
	if c.get("num_experts_per_tok").There {
		return nemotronHMoeRow
	}
	return nil
}

var nemotronHMoeRow = &row{
	arch: "nemotron_h_moe", model: "nemotron_h", names: []string{"NemotronHForCausalLM"},
	defaults: []preset{{"vocab_size", "131072"}, {"max_position_embeddings", "4096"}, {"head_dim", "128"}, {"num_key_value_heads", "8"}},
	outer:    nemotronHOuter, layer: "backbone.layers.#.",
	layers: lazy(func() []mapping {
		return with(nemotronHLayers(), nemotronHExperts...)
	}),
	keys: func(k *keys) {
		nemotronHKeys(k)
		k.blocks("feed_forward_length", 'E', uint32(k.c.int("moe_intermediate_size")))
		k.u32("expert_used_count", "num_experts_per_tok")
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.u32("expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size")
		k.u32("expert_count", "n_routed_experts")
		k.u32("expert_shared_count", "n_shared_experts")
		k.putArch("expert_weights_norm", k.c.bool("norm_topk_prob", false))
		k.f32("expert_weights_scale", "routed_scaling_factor")
		k.u32("expert_group_count", "n_group")
		for _, m := range []string{"num_nextn_predict_layers", "moe_latent_size"} {
			if v := k.c.get(m); k.c.int(m) > 0 {
				k.fail(m, v, "0, the only value known for this architecture")
			}
		}
	}, vocab: multipleOf8,

	chosen: true, mlx: mlxRow{form: mlxNemotronH}, back: backward{members: nemotronHBack(true)},
}

// nemotronHKeys are those of Granite 4 without its factors, and the width of a head.
func nemotronHKeys(k *keys) {
	c := k.c
	kinds := c.get("hybrid_override_pattern")
	n := int64(len(kinds.String()))
	if !kinds.IsString() {
		kinds = c.get("layers_block_type", "layer_types")
		n = int64(len(kinds.List()))
	}
	if n != c.layers() || strings.Trim(kinds.String(), "M*-E") != "" {
		k.fail("hybrid_override_pattern", kinds, "a list with a known type for each layer")
		return
	}
	common(k)
	k.u32("vocab_size", "vocab_size")
	k.putArch("rope.dimension_count", uint32(c.hidden()/c.heads()))
	k.u32("ssm.conv_kernel", "conv_kernel")
	k.u32("ssm.state_size", "ssm_state_size")
	k.putArch("ssm.group_count", uint32(c.groups()))
	k.putArch("ssm.inner_size", uint32(c.states()))
	k.u32("ssm.time_step_rank", "mamba_num_heads")
	k.blocks("attention.head_count_kv", '*', uint32(c.kvHeads()))
	k.putArch("rope.scaling.finetuned", false)
	k.putArch("context_length", uint32(1<<20))
	k.putArch("attention.key_length", uint32(c.headDim()))
	k.putArch("attention.value_length", uint32(c.headDim()))
}

// blocks adds a number for each layer: that one where it is of a kind, else 0.
func (k *keys) blocks(key string, kind byte, n uint32) {
	list, err := limits.Make[int32](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	for i := range list {
		if blockOf(k.c, int64(i)) == kind {
			list[i] = int32(n)
		}
	}
	k.putArch(key, list)
}

// multipleOf8 is a BPE of bytes with as many tokens as a multiple of eight, which the
// converter makes of another number without giving the table of tokens rows for them.
func multipleOf8(k *keys) error {
	k.multipleOf(8)
	return gpt2Vocab(k)
}

func (k *keys) multipleOf(n int64) {
	if k.c.int("vocab_size")%n != 0 {
		k.fail("vocab_size", k.c.get("vocab_size"), "a multiple of "+itoa(n))
	}
}
