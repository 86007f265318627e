package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var mlxNext = &mlxForm{normsPlusOne: true, skips: dropMTP, shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels(LinearQKV, LinearKernel)}}

var mlx35 = &mlxForm{normsPlusOne: true, skips: dropMTP, visionPrefix: "language_model.", needsVision: true, shapes: mlxNext.shapes, castExcept: []string{"A_log"}}

// Qwen3-Next and Qwen 3.5 have layers of linear attention, and one of full attention in each
// period. Layers under "mtp." predict further tokens and follow the others here.

// valueRows returns the rows of values in llama.cpp's order, which alternates between key
// heads. A folder has all values of a key head together.
func (c *config) valueRows(from, wide int64) (list []cut) {
	for j := range c.valuesEach() {
		for g := range c.keyHeads() {
			list = append(list, cut{first: from + (g*c.valuesEach()+j)*wide, rows: wide})
		}
	}
	return list
}

// grouped returns the rows of queries, keys, values and gates of Qwen3-Next. A folder has
// those of each key head together.
func grouped(c *config) (qkv, gate []cut) {
	k, v := c.keyWidth(), c.valueWidth()*c.valuesEach()
	one := 2*k + 2*v
	for _, part := range [][2]int64{{0, k}, {k, k}, {2 * k, v}, {2*k + v, v}} {
		for g := range c.keyHeads() {
			if list := &qkv; part[0] != 2*k+v {
				*list = append(*list, cut{first: g*one + part[0], rows: part[1]})
			} else {
				gate = append(gate, cut{first: g*one + part[0], rows: part[1]})
			}
		}
	}
	return qkv, gate
}

// columnsTiled has the output's columns in the order of llama.cpp's values.
var columnsTiled = view{
	gguf:  "ssm_out",
	shape: func(c *config) []int64 { return []int64{c.hidden(), c.valueHeads() * c.valueWidth()} },
	strides: func(c *config) ([]int64, int64) {
		return []int64{c.valueHeads() * c.valueWidth(), c.valueWidth(), c.valuesEach() * c.valueWidth(), 1}, 0
	},
	sourceShape: func(c *config) []int64 {
		return []int64{c.hidden(), c.valuesEach(), c.keyHeads(), c.valueWidth()}
	},
}

// untiled has the columns in transformers' order.
func untiled(c *config, of []tensor.Info, _ []int64) []Part {
	one := of[0]
	each, heads, wide := c.valuesEach(), c.keyHeads(), c.valueWidth()
	one.Shape, one.Strides = []int64{c.hidden(), heads, each, wide}, []int64{each * heads * wide, wide, heads * wide, 1}
	return []Part{{Info: one}}
}

// nextAttention returns the tensors of Qwen3-Next's layers; linear are those of its kind
// of linear attention.
func nextAttention(linear []mapping, more ...mapping) []mapping {
	full := onlyIn(isFullAttention, []mapping{
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{QGate, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
		{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Head}, op: addOne},
		{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{Head}, op: addOne},
	})
	ahead := onlyIn(isMTPLayer, []mapping{
		{hf: "eh_proj", gguf: "nextn.eh_proj", shape: dims{Hidden, Hidden2}},
		{hf: "enorm", gguf: "nextn.enorm", shape: dims{Hidden}, op: addOne},
		{hf: "hnorm", gguf: "nextn.hnorm", shape: dims{Hidden}, op: addOne},
		{hf: "shared_head.norm", gguf: "nextn.shared_head_norm", shape: dims{Hidden}, op: addOne},
	})
	return slices.Concat(full, ahead, onlyIn(isLinearAttention, linear), []mapping{
		{hf: "linear_attn.norm", gguf: "ssm_norm", shape: dims{ValueWidth}, inLayer: isLinearAttention},
		{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}, op: addOne},
		{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}, op: addOne},
	}, more)
}

// ofNext are the tensors of linear attention in Qwen3-Next.
var ofNext = []mapping{
	{hf: "linear_attn.A_log", gguf: "ssm_a", shape: dims{ValueHeads}, noSuffix: true, ggufNoSuffix: true, op: decay},
	{hf: "linear_attn.dt_bias", gguf: "ssm_dt.bias", shape: dims{ValueHeads}, noSuffix: true},
	{hf: "linear_attn.conv1d", shape: dims{LinearQKV, One, LinearKernel}, views: squeezedView("ssm_conv1d", LinearQKV, LinearKernel), join: onlyView},
	{hf: "linear_attn.in_proj_qkvz", shape: dims{LinearQKVZ, Hidden}, views: []view{
		rowsOf("attn_qkv", func(c *config) []cut { qkv, _ := grouped(c); return qkv }),
		rowsOf("attn_gate", func(c *config) []cut { _, gate := grouped(c); return gate }),
	}},
	{hf: "linear_attn.in_proj_ba", gguf: "ssm_ba", shape: dims{LinearBA, Hidden}},
	{hf: "linear_attn.out_proj", gguf: "ssm_out", shape: dims{Hidden, Values}},
}

// of35 are those in Qwen 3.5.
var of35 = []mapping{
	{hf: "linear_attn.A_log", shape: dims{ValueHeads}, noSuffix: true, op: decay, views: []view{{gguf: "ssm_a", noSuffix: true, cuts: func(c *config) []cut { return c.valueRows(0, 1) }}}},
	{hf: "linear_attn.dt_bias", shape: dims{ValueHeads}, noSuffix: true, views: []view{rowsOf("ssm_dt.bias", func(c *config) []cut { return c.valueRows(0, 1) })}},
	{hf: "linear_attn.conv1d", shape: dims{LinearQKV, One, LinearKernel}, views: []view{{gguf: "ssm_conv1d", cuts: mixed35, squeeze: true}}},
	{hf: "linear_attn.in_proj_qkv", shape: dims{LinearQKV, Hidden}, views: []view{rowsOf("attn_qkv", mixed35)}},
	{hf: "linear_attn.in_proj_z", shape: dims{Values, Hidden}, views: []view{rowsOf("attn_gate", func(c *config) []cut { return c.valueRows(0, c.valueWidth()) })}},
	{hf: "linear_attn.in_proj_b", shape: dims{ValueHeads, Hidden}, views: []view{rowsOf("ssm_beta", func(c *config) []cut { return c.valueRows(0, 1) })}},
	{hf: "linear_attn.in_proj_a", shape: dims{ValueHeads, Hidden}, views: []view{rowsOf("ssm_alpha", func(c *config) []cut { return c.valueRows(0, 1) })}},
	{hf: "linear_attn.out_proj", shape: dims{Hidden, Values}, views: []view{columnsTiled}, join: untiled},
}

// mixed35 returns the rows of queries and keys, unchanged, and of values.
func mixed35(c *config) []cut {
	n := 2 * c.keyHeads() * c.keyWidth()
	return append([]cut{{first: 0, rows: n}}, c.valueRows(n, c.valueWidth())...)
}

var nextPresets = []preset{
	{"vocab_size", "151936"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"head_dim", "256"}, {"num_key_value_heads", "2"}, {"full_attention_interval", "4"},
	{"linear_conv_kernel_dim", "4"}, {"linear_key_head_dim", "128"}, {"linear_value_head_dim", "128"}, {"linear_num_key_heads", "16"}, {"linear_num_value_heads", "32"},
	{"partial_rotary_factor", "0.25"}, {"rope_theta", "10000"},
}

var nextOuter = storedMinusOne(with(outer))

var qwen3nextRow = &row{
	arch: "qwen3next", model: "qwen3_next", names: []string{"Qwen3NextForCausalLM"},
	defaults: append(nextPresets[:len(nextPresets):len(nextPresets)], preset{"num_experts", "512"}, preset{"num_experts_per_tok", "10"}, preset{"moe_intermediate_size", "512"}, preset{"shared_expert_intermediate_size", "512"}),
	outer:    nextOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return nextAttention(ofNext, with(experts, sharedExpert...)...)
	}),
	keys: func(k *keys) {
		qwenMoeKeys(k)
		linearKeys(k)
	}, vocab: gpt2Vocab,

	linear: true, ahead: aheadApart, mlx: mlxRow{eight: []string{"mlp.gate", "shared_expert_gate"}, form: mlxNext}, back: backward{members: qwen3nextBack},
}

var qwen35Row = &row{
	arch: "qwen35", model: "qwen3_5_text", names: []string{"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"},
	defaults: nextPresets, outer: nextOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return nextAttention(of35, mlp...)
	}),
	keys: func(k *keys) {
		common(k)
		linearKeys(k)
		k.sectionsOr(11, 11, 10)
	}, vocab: gpt2Vocab,

	linear: true, ahead: aheadApart, mlx: mlxRow{form: mlx35}, back: backward{members: qwen35Back(false), arch: "Qwen3_5ForCausalLM"},
}

var qwen35moeRow = &row{
	arch: "qwen35moe", model: "qwen3_5_moe_text", names: []string{"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"},
	defaults: qwen3nextRow.defaults, outer: nextOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return nextAttention(of35, with(experts, sharedExpert...)...)
	}),
	keys: func(k *keys) {
		qwenMoeKeys(k)
		linearKeys(k)
		k.sectionsOr(11, 11, 10)
	}, vocab: gpt2Vocab,

	linear: true, ahead: aheadApart, mlx: mlxRow{eight: []string{"mlp.gate", "shared_expert_gate"}, form: mlx35}, back: backward{members: qwen35Back(true), arch: "Qwen3_5MoeForCausalLM"},
}

func qwen3nextBack(s *settings) {
	_, _, head := s.common()
	s.linearBack(head)
	s.sharedMixture()
}

func qwen35Back(mixed bool) func(*settings) {
	return func(s *settings) {
		_, _, head := s.common()
		_, _ = s.key("rope.dimension_sections") // equal for a text
		s.linearBack(head)
		if mixed {
			s.sharedMixture()
		}
	}
}
