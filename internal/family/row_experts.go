package family

import "github.com/anamnesis-go/anamnesis/internal/wire"

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

// ossExperts: rows of gate and up_proj alternate.
var ossExperts = []mapping{
	{hf: "mlp.router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
	{hf: "mlp.experts.gate_up_proj", shape: dims{Experts, Hidden, GateUp}, noSuffix: true, views: []view{
		expertView("ffn_gate_exps", Hidden, FFN, double(FFN), 2, 0, false), expertView("ffn_up_exps", Hidden, FFN, double(FFN), 2, 1, false),
	}, interleave: transposedStack(Hidden, FFN, One), mayKeepBlocks: true},
	{hf: "mlp.experts.gate_up_proj_bias", shape: dims{Experts, GateUp}, noSuffix: true, views: []view{stridedBias("ffn_gate_exps.bias", 0), stridedBias("ffn_up_exps.bias", 1)},
		interleave: &interleaving{turns: One, strides: func(c *config) []int64 { return []int64{FFN(c), 1} }}},
	{hf: "mlp.experts.down_proj", shape: dims{Experts, FFN, Hidden}, noSuffix: true, views: []view{expertView("ffn_down_exps", FFN, Hidden, Hidden, 1, 0, false)}, interleave: transposedStack(FFN, Hidden, One), mayKeepBlocks: true},
	{hf: "mlp.experts.down_proj_bias", gguf: "ffn_down_exps.bias", shape: dims{Experts, Hidden}, noSuffix: true},
}

func stridedBias(gguf string, first int64) view {
	return view{
		gguf:    gguf,
		shape:   func(c *config) []int64 { return []int64{c.experts(), FFN(c)} },
		strides: func(c *config) ([]int64, int64) { return []int64{2 * FFN(c), 2}, first },
	}
}

var gptossRow = &row{
	arch: "gpt-oss", model: "gpt_oss", names: []string{"GptOssForCausalLM"},
	defaults: []preset{
		{"vocab_size", "201088"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "64"},
		{"sliding_window", "128"}, {"num_local_experts", "128"}, {"num_experts_per_tok", "4"}, {"rope_theta", "150000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(ossExperts,
			mapping{hf: "self_attn.sinks", gguf: "attn_sinks", shape: dims{Heads}, noSuffix: true},
			mapping{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
		)...)
	}),
	biased: []string{"attn_output", "ffn_gate_inp"},
	keys:   gptossKeys, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"router"}, form: mlxOss}, back: backward{members: gptossBack},
}

func gptossKeys(k *keys) {
	common(k)
	k.u32("attention.sliding_window", "sliding_window")
	k.u32("expert_feed_forward_length", "intermediate_size")
}

// isLlama4Mixture reports the layers with experts: one in every so many. The others are
// wider.
func isLlama4Mixture(c *config, layer int64) bool {
	if list := c.get("moe_layers"); list.There {
		all := list.List()
		for i := range min(len(all), maxLayers) {
			if n, ok := all[i].Int(); ok && n == layer {
				return true
			}
		}
		return false
	}
	step := c.int("interleave_moe_layer_step")
	return step > 0 && (layer+1)%step == 0
}

// fewMixtures refuses a list of more layers with experts than a model has.
func fewMixtures(c *config) error {
	if n := len(c.get("moe_layers").List()); n > maxLayers {
		return wire.ErrRange.Errorf("moe_layers names %d", n)
	}
	return nil
}

func isLlama4Dense(c *config, layer int64) bool { return !isLlama4Mixture(c, layer) }

var llama4Row = &row{
	check: fewMixtures,
	arch:  "llama4", model: "llama4_text", names: []string{"Llama4ForCausalLM", "Llama4ForConditionalGeneration"},
	defaults: []preset{
		{"vocab_size", "202048"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"},
		{"interleave_moe_layer_step", "1"}, {"num_local_experts", "16"}, {"num_experts_per_tok", "1"}, {"rope_theta", "500000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with([]mapping{
			ffnNorm,
			{hf: "feed_forward.gate_proj", gguf: "ffn_gate", shape: dims{DenseFFN, Hidden}, inLayer: isLlama4Dense},
			{hf: "feed_forward.up_proj", gguf: "ffn_up", shape: dims{DenseFFN, Hidden}, inLayer: isLlama4Dense},
			{hf: "feed_forward.down_proj", gguf: "ffn_down", shape: dims{Hidden, DenseFFN}, inLayer: isLlama4Dense},
		}, onlyIn(isLlama4Mixture, []mapping{
			{hf: "feed_forward.router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "feed_forward.experts.gate_up_proj", shape: dims{Experts, Hidden, GateUp}, noSuffix: true, views: []view{
				expertView("ffn_gate_exps", Hidden, FFN, double(FFN), 1, 0, true), expertView("ffn_up_exps", Hidden, FFN, double(FFN), 1, 1, true),
			}, interleave: transposedStack(Hidden, FFN, FFN)},
			{hf: "feed_forward.experts.down_proj", shape: dims{Experts, FFN, Hidden}, noSuffix: true, views: []view{expertView("ffn_down_exps", FFN, Hidden, Hidden, 1, 0, false)}, interleave: transposedStack(FFN, Hidden, One)},
			{hf: "feed_forward.shared_expert.gate_proj", gguf: "ffn_gate_shexp", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.shared_expert.up_proj", gguf: "ffn_up_shexp", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.shared_expert.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, FFN}},
		})...)...)
	}),
	keys: llama4Keys, vocab: gpt2Vocab,

	mlx: mlxRow{form: mlxLlama4}, back: backward{members: llama4Back},
}

func llama4Keys(k *keys) {
	smollm3Keys(k)
	k.u32("feed_forward_length", "intermediate_size_mlp")
	k.u32("interleave_moe_layer_step", "interleave_moe_layer_step")
	k.u32("expert_feed_forward_length", "intermediate_size")
	kinds := k.c.get("layer_types").List()
	for _, v := range kinds {
		if k.err == nil {
			k.err = k.b.Step(1)
		}
		if v.String() != "full_attention" {
			return
		}
	}
	if len(kinds) > 0 {
		k.putArch("attention.sliding_window", uint32(0))
	}
}
