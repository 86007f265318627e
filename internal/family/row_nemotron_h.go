package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// blockPattern puts the letter of each layer. A feed-forward layer of a mixture is known
// by its tensor, since llama.cpp does not store its width.
func (s *settings) blockPattern(attends, feeds []bool, mixed bool) {
	text := ""
	for l := range s.layers() {
		up := s.tensors["blk."+itoa(l)+".ffn_up.weight"]
		switch {
		case isSet(attends, l):
			text += "*"
		case isSet(feeds, l) && !mixed:
			text += "-"
		case isSet(feeds, l):
			text += "E"
		case mixed && up != nil && len(up.Shape) == 2:
			s.replace("intermediate_size", itoa(up.Shape[0]))
			text += "-"
		default:
			text += "M"
		}
	}
	s.put("hybrid_override_pattern", `"`+text+`"`)
}

func (s *settings) nemotronHExperts() {
	s.requireInt("n_routed_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length")
	s.requireInt("n_shared_experts", "expert_shared_count")
	s.scoring()
	s.expect("expert_gating_func", 2)
}

var mlxNemotronH = &mlxForm{names: map[string]string{"ffn_up_exps": "mixer.switch_mlp.fc1", "ffn_down_exps": "mixer.switch_mlp.fc2"},
	shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels(SSMConv, SSMKernel)}, castExcept: []string{scoreBias, "A_log"}, quantizeExcept: []string{"mixer.gate"}}

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

// nemotronHBack returns a function that puts the members of Nemotron-H; mixed says that
// some layers are experts.
func nemotronHBack(mixed bool) func(*settings) {
	return func(s *settings) {
		attends := s.attentionLayers()
		feeds := s.sharedValue("feed_forward_length")
		_, _, head := s.common()
		hidden, _ := s.int("embedding_length")
		heads, _ := s.int("attention.head_count")
		if heads > 0 {
			s.expect("rope.dimension_count", float64(hidden/heads)) // not used
		}
		s.rotations(head)
		s.expect("rope.scaling.finetuned", 0)
		epsilon, _ := s.float("attention.layer_norm_rms_epsilon")
		s.put("layer_norm_epsilon", epsilon)
		if f, ok := number(s.keys[s.row.arch+".attention.layer_norm_rms_epsilon"]); ok {
			s.expect("attention.layer_norm_epsilon", f)
		}
		s.requireInt("conv_kernel", "ssm.conv_kernel")
		s.requireInt("ssm_state_size", "ssm.state_size")
		s.requireInt("n_groups", "ssm.group_count")
		inner, _ := s.int("ssm.inner_size")
		if n := s.requireInt("mamba_num_heads", "ssm.time_step_rank"); n < 1 || inner%n != 0 {
			s.fail(s.row.arch+".ssm.inner_size", "its value is %d, for %d heads", inner, n)
		} else {
			s.putInt("mamba_head_dim", inner/n)
		}
		s.blockPattern(attends, feeds, mixed)
		if mixed {
			s.nemotronHExperts()
		}
		s.biased("attention_bias", projections...)
		s.biased("mlp_bias", "ffn_up", "ffn_down")
		s.biased("use_conv_bias", "ssm_conv1d")
		s.biased("mamba_proj_bias", "ssm_in", "ssm_out")
		s.put("use_bias", "false")
		s.put("mlp_hidden_act", `"relu2"`)
		s.put("mamba_hidden_act", `"silu"`)
	}
}
