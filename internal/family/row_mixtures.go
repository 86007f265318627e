package family

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ernieMixed reports ERNIE's layers of experts: every so many, between the first and the
// last of them.
func ernieMixed(c *config, layer int64) bool {
	every := c.int("moe_layer_interval")
	last, _ := c.get("moe_layer_end_index").Int()
	if last < 0 {
		last = c.layers() - 1
	}
	return every > 0 && (layer+1)%every == 0 && layer >= c.int("moe_layer_start_index") && layer <= last
}

func ernieDense(c *config, layer int64) bool { return !ernieMixed(c, layer) }

var ernieMoeRow = &row{
	arch: "ernie4_5-moe", model: "ernie4_5_moe", names: []string{"Ernie4_5_MoeForCausalLM"}, tied: true,
	defaults: []preset{
		{"vocab_size", "103424"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"num_key_value_heads", "4"}, {"moe_intermediate_size", "1536"}, {"moe_k", "6"}, {"moe_num_experts", "64"},
		{"moe_num_shared_experts", "2"}, {"moe_layer_start_index", "1"}, {"moe_layer_end_index", "-1"}, {"moe_layer_interval", "1"}, {"rope_theta", "500000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(onlyIn(ernieDense, mlp), ffnNorm), onlyIn(ernieMixed, with(experts,
			mapping{hf: "mlp.moe_statics.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{One, Experts}, noSuffix: true},
			mapping{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedExperts, Hidden}},
			mapping{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedExperts, Hidden}},
			mapping{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedExperts}},
		))...)...)
	}),
	keys: ernieMoeKeys, vocab: ernieVocab,

	naming: naming{skipPrefixes: []string{"model.mtp_"}}, mlx: mlxRow{form: mlxERNIE}, back: backward{members: ernieMoeBack},
}

func ernieMoeKeys(k *keys) {
	common(k)
	k.u32("expert_count", "moe_num_experts")
	k.u32("expert_used_count", "moe_k")
	k.u32("interleave_moe_layer_step", "moe_layer_interval")
	k.u32("leading_dense_block_count", "moe_layer_start_index")
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_count", "moe_num_shared_experts")
	if k.c.int("moe_num_shared_experts") > 0 {
		k.putArch("expert_shared_feed_forward_length", uint32(k.c.int("intermediate_size")/k.c.kvHeads())) // as in the converter
	}
}

func ernieMoeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("moe_num_experts", "expert_count")
	s.requireInt("moe_k", "expert_used_count")
	s.requireInt("moe_layer_interval", "interleave_moe_layer_step")
	s.requireInt("moe_layer_start_index", "leading_dense_block_count")
	s.put("moe_layer_end_index", "-1")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("moe_num_shared_experts", "expert_shared_count")
	_, _ = s.key("expert_shared_feed_forward_length") // llama.cpp does not read it
	s.biases("use_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}

// hunyuanRow: queries and keys are normalized after rotation.
var hunyuanRow = &row{
	arch: "hunyuan-dense", model: "hunyuan_v1_dense", names: []string{"HunYuanDenseV1ForCausalLM"},
	defaults: []preset{{"vocab_size", "290943"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "2048"}, {"eod_token_id", "3"}, {"pad_token_id", "0"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(mlp, ffnNorm),
			mapping{hf: "self_attn.query_layernorm", gguf: "attn_q_norm", shape: dims{Head}},
			mapping{hf: "self_attn.key_layernorm", gguf: "attn_k_norm", shape: dims{Head}},
		)...)
	}),
	keys: hunyuanKeys, vocab: hunyuanVocab,

	attention: attention{scalings: []string{"dynamic"}}, back: backward{members: hunyuanBack},
}

// hunyuanKeys adds llama.cpp's base of rotary embeddings for long texts, which includes
// the factor.
func hunyuanKeys(k *keys) {
	r := k.c.rope()
	common(k)
	if r.kind != "dynamic" {
		return
	}
	alpha, ok := r.params.Get("alpha").Float()
	if !ok {
		alpha = 50
	}
	base, _ := r.theta.Float()
	dim, most := float64(k.c.headDim()), k.c.int("max_position_embeddings")
	if base != 10000 || dim <= 2 || alpha <= 0 || most != 32<<10 && most != 256<<10 {
		k.fail("rope_scaling", r.params, "what the converter knows of the kind dynamic: a base of 10000 and 32768 or 262144 positions")
		return
	}
	k.putArch("rope.freq_base", float32(base*math.Pow(alpha, dim/(dim-2))))
	k.putArch("rope.scaling.type", "none")
	k.putArch("rope.scaling.factor", float32(1))
	k.putArch("rope.scaling.original_context_length", uint32(256<<10))
	k.putArch("context_length", uint32(256<<10))
}

// hunyuanVocab makes eod_token_id of config.json the end of texts.
func hunyuanVocab(k *keys) error {
	if err := gpt2Vocab(k); err != nil {
		return err
	}
	if n, ok := k.c.get("eod_token_id").Int(); ok && n >= 0 && n <= math.MaxUint32 {
		k.put("tokenizer.ggml.eos_token_id", uint32(n))
	}
	v, err := jsontree.Read(k.b, k.files, "generation_config.json", maxConfig)
	if err != nil {
		return err
	}
	if list := v.Get("eos_token_id").List(); len(list) >= 2 {
		n, ok := list[0].Int()
		if !ok || n < 0 || n > math.MaxUint32 {
			k.fail("eos_token_id", list[0], "a token")
			return nil
		}
		k.put("tokenizer.ggml.eot_token_id", uint32(n))
	}
	return nil
}

func hunyuanBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	if n, ok := number(s.keys["tokenizer.ggml.eos_token_id"]); ok && n >= 0 && n == math.Trunc(n) {
		s.putInt("eod_token_id", int64(n))
	}
	s.put("hidden_act", `"silu"`)
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

var graniteExperts = []mapping{
	{hf: "block_sparse_moe.router.layer", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "block_sparse_moe.input_linear", shape: dims{Experts, GateUp, Hidden}, views: []view{halfOf("ffn_gate_exps", 0), halfOf("ffn_up_exps", 1)}, join: halves},
	{hf: "block_sparse_moe.output_linear", gguf: "ffn_down_exps", shape: dims{Experts, Hidden, FFN}},
}

// graniteShared: the gate's rows come before those of up_proj.
var graniteShared = []mapping{
	{hf: "shared_mlp.input_linear", shape: dims{SharedGateUp, Hidden}, views: []view{
		{gguf: "ffn_gate_shexp", cuts: func(c *config) []cut { return []cut{{first: 0, rows: SharedGateUp(c) / 2}} }},
		{gguf: "ffn_up_shexp", cuts: func(c *config) []cut { return []cut{{first: SharedGateUp(c) / 2, rows: SharedGateUp(c) / 2}} }},
	}},
	{hf: "shared_mlp.output_linear", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedDense}},
}

var graniteMoeDefaults = []preset{
	{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"num_local_experts", "8"}, {"num_experts_per_tok", "2"}, {"rope_theta", "10000"},
}

var graniteMoeRow = &row{
	arch: "granitemoe", model: "granitemoe", names: []string{"GraniteMoeForCausalLM"},
	defaults: graniteMoeDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(graniteExperts, ffnNorm)...))
	}),
	keys: graniteKeys, vocab: llamaVocab,

	mlx: mlxRow{eight: []string{"block_sparse_moe.router.layer", "self_attn.o_proj", "mlp.down_proj", "lm_head"}, form: mlxGraniteMoe}, back: backward{members: graniteMoeBack, matches: func(s *settings) bool { return s.tensors["blk.0.ffn_gate_shexp.weight"] == nil && !s.isHybrid() }},
}

var graniteMoeSharedRow = &row{
	arch: "granitemoe", model: "granitemoeshared", names: []string{"GraniteMoeSharedForCausalLM"},
	defaults: graniteMoeDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(with(graniteExperts, ffnNorm), graniteShared...)...))
	}),
	keys: func(k *keys) {
		graniteKeys(k)
		k.u32("expert_shared_feed_forward_length", "shared_intermediate_size")
	}, vocab: llamaVocab,

	mlx: mlxRow{none: "mlx-lm has other names for its experts"}, back: backward{members: func(s *settings) {
		graniteMoeBack(s)
		s.requireInt("shared_intermediate_size", "expert_shared_feed_forward_length")
	}, matches: func(s *settings) bool { return s.tensors["blk.0.ffn_gate_shexp.weight"] != nil && !s.isHybrid() }},
}

func graniteMoeBack(s *settings) {
	graniteBack(s)
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
}

var minimaxRow = &row{
	arch: "minimax-m2", model: "minimax_m2", names: []string{"MiniMaxM2ForCausalLM"},
	defaults: []preset{
		{"vocab_size", "200064"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "196608"}, {"head_dim", "128"}, {"num_key_value_heads", "8"},
		{"num_local_experts", "256"}, {"num_experts_per_tok", "8"}, {"rope_theta", "5000000"}, {"scoring_func", `"sigmoid"`}, // without which llama.cpp aborts
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(allHeadNorms, ffnNorm,
			mapping{hf: "block_sparse_moe.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			mapping{hf: "block_sparse_moe.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
			mapping{hf: "block_sparse_moe.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{FFN, Hidden}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, FFN}, op: stack},
			mapping{hf: "block_sparse_moe.experts.*.w3", gguf: "ffn_up_exps", shape: dims{FFN, Hidden}, op: stack},
		)...)
	}),
	keys: minimaxKeys, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"block_sparse_moe.gate"}, form: mlxPlain}, back: backward{members: minimaxBack},
}

func minimaxKeys(k *keys) {
	common(k)
	k.u32("expert_feed_forward_length", "intermediate_size")
	if k.c.get("rotary_dim").There {
		k.u32("rope.dimension_count", "rotary_dim")
		return
	}
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.headDim(), 1)))
}

func minimaxBack(s *settings) {
	_, _, head := s.common()
	s.partialRotary(head)
	if n, ok := s.int("rope.dimension_count"); ok {
		s.putInt("rotary_dim", n)
	}
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	wide, _ := s.int("feed_forward_length")
	s.expect("expert_feed_forward_length", float64(wide))
	s.expect("expert_gating_func", 2)
	s.put("scoring_func", `"sigmoid"`)
	s.put("use_routing_bias", "true")
	s.put("use_qk_norm", "true")
	s.put("hidden_act", `"silu"`)
}

var dots1Row = &row{
	arch: "dots1", model: "dots1", names: []string{"Dots1ForCausalLM"},
	defaults: []preset{{"vocab_size", "152064"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"first_k_dense_replace", "0"}, {"n_group", "1"}, {"topk_group", "1"}, {"routed_scaling_factor", "1.0"}, {"norm_topk_prob", "false"}, {"rope_theta", "10000"}, {"scoring_func", `"sigmoid"`}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(headNorms, ffnNorm, correction), with(denseMLP, sharedMixture...)...)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.u32("leading_dense_block_count", "first_k_dense_replace")
		k.u32("expert_shared_count", "n_shared_experts")
		k.f32("expert_weights_scale", "routed_scaling_factor")
		k.putArch("expert_weights_norm", k.c.bool("norm_topk_prob", false))
	}, vocab: gpt2Vocab,

	mlx: mlxRow{form: mlxDots}, back: backward{members: dots1Back},
}

func dots1Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("attention_bias", s.layers(), projections...)
	s.routerMembers()
	s.expect("expert_gating_func", 2)
	s.put("sliding_window", "null")
	s.put("hidden_act", `"silu"`)
}
