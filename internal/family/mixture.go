package family

import (
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// mixture puts the members of Qwen's experts, which every layer has.
func (s *settings) mixture(normed bool) {
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.put("norm_topk_prob", boolText(normed)) // as in llama.cpp
	s.put("decoder_sparse_step", "1")
	s.put("mlp_only_layers", "[]")
}

// sharedMixture puts the members of Qwen's experts and of the shared expert.
func (s *settings) sharedMixture() {
	s.mixture(true)
	s.requireInt("shared_expert_intermediate_size", "expert_shared_feed_forward_length")
}

func (c *config) experts() int64 {
	return c.int("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "moe_num_primary_experts")
}

// isDense and isMixture report the first layers of a mixture, which are dense, and the
// others.
func isDense(c *config, layer int64) bool { return layer < c.int("first_k_dense_replace") }

func isMixture(c *config, layer int64) bool { return !isDense(c, layer) }

var denseMLP = onlyIn(isDense, mlp)

var sharedMixture = onlyIn(isMixture, with(experts,
	mapping{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedExperts, Hidden}},
	mapping{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedExperts, Hidden}},
	mapping{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedExperts}},
))

var correction = mapping{hf: "mlp.gate.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true, inLayer: isMixture}

// mixture are keys of experts that are chosen, and of those that always are.
func (k *keys) mixture() {
	k.u32("expert_feed_forward_length", "moe_intermediate_size", "intermediate_size")
	k.u32("expert_count", "n_routed_experts")
	k.u32("expert_shared_count", "n_shared_experts")
	if v := k.c.get("routed_scaling_factor"); v.There {
		k.number("expert_weights_scale", "routed_scaling_factor", v)
	}
}

// routerMembers are the members of a mixture with experts that are always chosen.
func (s *settings) routerMembers() {
	s.requireInt("first_k_dense_replace", "leading_dense_block_count")
	s.requireInt("n_routed_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("n_shared_experts", "expert_shared_count")
	s.scoring()
}

// scoring are the members of how experts are weighed.
func (s *settings) scoring() {
	if !s.optionalFloat("routed_scaling_factor", "expert_weights_scale") {
		s.put("routed_scaling_factor", "1.0")
	}
	v, _ := s.key("expert_weights_norm")
	normed, _ := v.(bool)
	s.put("norm_topk_prob", boolText(normed))
	for _, m := range [][2]string{{"n_group", "expert_group_count"}, {"topk_group", "expert_group_used_count"}} {
		if n, ok := s.int(m[1]); ok {
			s.putInt(m[0], n)
		}
	}
}

// expertView is the view of a stack of experts [E, in, out], whose matrices llama.cpp has
// as [out, in]: every step-th of wide columns, from first.
func expertView(gguf string, in, out, wide size, step, first int64, half bool) view {
	return view{
		gguf: gguf, step: step, first: first,
		shape: func(c *config) []int64 { return []int64{c.experts(), out(c), in(c)} },
		strides: func(c *config) ([]int64, int64) {
			cols, from := wide(c), first
			if half {
				from = first * out(c)
			}
			return []int64{in(c) * cols, max(1, step), cols}, from
		},
	}
}

// transposedStack is the inverse of expertView: the rows of llama.cpp's stack are columns.
func transposedStack(in, out, turns size) *interleaving {
	return &interleaving{turns: turns, strides: func(c *config) []int64 {
		return []int64{in(c) * out(c), 1, in(c)}
	}}
}

// halves joins two consecutive matrices of each expert.
func halves(c *config, of []tensor.Info, _ []int64) (list []Part) {
	for e := range c.experts() {
		list = append(list, Part{Info: of[0], From: e, Rows: 1}, Part{Info: of[1], From: e, Rows: 1})
	}
	return list
}

// halfOf is the view of one of the two.
func halfOf(gguf string, first int64) view {
	return view{
		gguf:  gguf,
		shape: func(c *config) []int64 { return []int64{c.experts(), FFN(c), c.hidden()} },
		strides: func(c *config) ([]int64, int64) {
			one := FFN(c) * c.hidden()
			return []int64{2 * one, c.hidden(), 1}, first * one
		},
	}
}

var experts = []mapping{
	{hf: "mlp.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "mlp.experts.*.gate_proj", gguf: "ffn_gate_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
	{hf: "mlp.experts.*.up_proj", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
	{hf: "mlp.experts.*.down_proj", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
}

var sharedExpert = []mapping{
	{hf: "mlp.shared_expert.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedFFN, Hidden}},
	{hf: "mlp.shared_expert.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedFFN, Hidden}},
	{hf: "mlp.shared_expert.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedFFN}},
	{hf: "mlp.shared_expert_gate", gguf: "ffn_gate_inp_shexp", shape: dims{One, Hidden}},
}
