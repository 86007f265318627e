package family

import (
	"cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

var mlxLFM2 = &mlxForm{shapes: map[string]func(*config) []int64{"shortconv.conv": kernels(Hidden, ShortKernel)}, castExcept: []string{"expert_bias"}}

var mlxLFM2Moe = &mlxForm{shapes: mlxLFM2.shapes, castExcept: mlxLFM2.castExcept,
	names: map[string]string{"ffn_gate": "feed_forward.gate_proj", "ffn_up": "feed_forward.up_proj", "ffn_down": "feed_forward.down_proj"}}

// Liquid's models have attention layers and layers of short convolutions.

// attends reports a layer of attention, not of convolution.
func (c *config) attends(layer int64) bool {
	if list := c.get("layer_types").List(); layer >= 0 && layer < int64(len(list)) {
		return list[layer].String() != "conv"
	}
	all := c.get("full_attn_idxs").List()
	for i := range min(len(all), maxLayers) {
		if n, ok := all[i].Int(); ok && n == layer {
			return true
		}
	}
	return false
}

func isLFM2Attention(c *config, layer int64) bool { return c.attends(layer) }

func isLFM2Conv(c *config, layer int64) bool {
	return !c.attends(layer)
}

// adjustedFFN returns the width of LFM2's feed-forward layer: two thirds of the stated
// width, rounded up.
func adjustedFFN(c *config) int64 {
	n := c.int("block_ff_dim", "intermediate_size")
	if !c.bool("block_auto_adjust_ff_dim", true) {
		return n
	}
	wide := float64(int64(float64(2*n) / 3))
	if f, ok := c.get("block_ffn_dim_multiplier").Float(); ok && f > 0 && f <= 64 {
		wide *= f
	}
	step := c.int("block_multiple_of")
	if step < 1 || step > 1<<20 {
		step = 256
	}
	return step * ((int64(wide) + step - 1) / step)
}

func lfm2Layers(more ...mapping) []mapping {
	conv := onlyIn(isLFM2Conv, []mapping{
		{hf: "conv.conv", shape: dims{Hidden, One, ShortKernel}, views: squeezedView("shortconv.conv", Hidden, ShortKernel), join: onlyView},
		{hf: "conv.in_proj", gguf: "shortconv.in_proj", shape: dims{Hidden3, Hidden}},
		{hf: "conv.out_proj", gguf: "shortconv.out_proj", shape: dims{Hidden, Hidden}},
	})
	return with(with(conv, onlyIn(isLFM2Attention, []mapping{
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
		{hf: "self_attn.out_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
		{hf: "self_attn.q_layernorm", gguf: "attn_q_norm", shape: dims{Head}},
		{hf: "self_attn.k_layernorm", gguf: "attn_k_norm", shape: dims{Head}},
	})...), with([]mapping{
		{hf: "operator_norm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "ffn_norm", gguf: "ffn_norm", shape: dims{Hidden}},
	}, more...)...)
}

var lfm2Outer = []mapping{
	outer[0],
	{hf: "model.embedding_norm", gguf: "token_embd_norm", shape: dims{Hidden}},
	{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}, optional: true},
}

var lfm2Row = &row{
	arch: "lfm2", model: "lfm2", names: []string{"Lfm2ForCausalLM", "LFM2ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "65536"}, {"norm_eps", "1e-05"}, {"max_position_embeddings", "128000"}, {"num_key_value_heads", "8"}, {"conv_L_cache", "3"}, {"rope_theta", "1000000"}},
	outer:    lfm2Outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return lfm2Layers(
			mapping{hf: "feed_forward.w1", gguf: "ffn_gate", shape: dims{adjustedFFN, Hidden}},
			mapping{hf: "feed_forward.w3", gguf: "ffn_up", shape: dims{adjustedFFN, Hidden}},
			mapping{hf: "feed_forward.w2", gguf: "ffn_down", shape: dims{Hidden, adjustedFFN}},
		)
	}),
	keys: func(k *keys) {
		lfm2Keys(k)
		k.putArch("feed_forward_length", uint32(adjustedFFN(k.c)))
	}, vocab: gpt2Vocab,

	mlx: mlxRow{form: mlxLFM2}, back: backward{members: lfm2Back},
}

func lfm2Keys(k *keys) {
	common(k)
	heads, err := limits.Make[int32](k.b, int(k.c.layers()))
	if k.err != nil || err != nil {
		k.err = cmp.Or(k.err, err)
		return
	}
	for i := range heads {
		if k.c.attends(int64(i)) {
			heads[i] = int32(k.c.kvHeads())
		}
	}
	k.putArch("attention.head_count_kv", heads)
	k.u32("vocab_size", "vocab_size")
	k.u32("shortconv.l_cache", "conv_L_cache")
}

// convolutions puts the members of Liquid's layers.
func (s *settings) convolutions() {
	s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	s.requireInt("num_attention_heads", "attention.head_count")
	s.requireInt("max_position_embeddings", "context_length")
	s.requireInt("conv_L_cache", "shortconv.l_cache")
	s.optionalFloat("norm_eps", "attention.layer_norm_rms_epsilon")
	s.vocabulary()
	s.ropeBase()
	s.put("conv_bias", "false")
	most, kinds := int64(0), ""
	for _, n := range s.headCounts("attention.head_count_kv") {
		kind := `, "conv"`
		if n > 0 {
			kind = `, "full_attention"`
		}
		if n > 0 && most > 0 && n != most {
			s.fail(s.row.arch+".attention.head_count_kv", "layers have %d and %d heads of keys", most, n)
		}
		most, kinds = max(most, n), kinds+kind
	}
	if kinds != "" {
		s.put("layer_types", "["+kinds[2:]+"]")
	}
	s.putInt("num_key_value_heads", max(1, most))
}

func lfm2Back(s *settings) {
	s.convolutions()
	s.requireInt("intermediate_size", "feed_forward_length")
	s.put("block_auto_adjust_ff_dim", "false")
}

var lfm2moeRow = &row{
	arch: "lfm2moe", model: "lfm2_moe", names: []string{"Lfm2MoeForCausalLM"}, tied: true,
	defaults: []preset{
		{"vocab_size", "65536"}, {"norm_eps", "1e-05"}, {"max_position_embeddings", "128000"}, {"num_key_value_heads", "8"}, {"conv_L_cache", "3"},
		{"num_dense_layers", "2"}, {"num_experts", "32"}, {"num_experts_per_tok", "4"}, {"moe_intermediate_size", "1792"}, {"rope_theta", "1000000"},
	},
	outer: lfm2Outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return lfm2Layers(with(onlyIn(firstDense, []mapping{
			{hf: "feed_forward.w1", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.w3", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.w2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}), onlyIn(laterMixture, []mapping{
			{hf: "feed_forward.gate", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "feed_forward.expert_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
			{hf: "feed_forward.experts.*.w1", gguf: "ffn_gate_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
			{hf: "feed_forward.experts.*.w3", gguf: "ffn_up_exps", shape: dims{ExpertFFN, Hidden}, op: stack},
			{hf: "feed_forward.experts.*.w2", gguf: "ffn_down_exps", shape: dims{Hidden, ExpertFFN}, op: stack},
		})...)...)
	}),
	keys: func(k *keys) {
		lfm2Keys(k)
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.u32("leading_dense_block_count", "num_dense_layers")
		k.putArch("expert_gating_func", uint32(2))
		if f, ok := k.c.get("routed_scaling_factor").Float(); ok && f != 1 {
			k.fail("routed_scaling_factor", k.c.get("routed_scaling_factor"), "1, as llama.cpp assumes for LFM2")
		}
	}, vocab: gpt2Vocab,

	mlx: mlxRow{eight: []string{"feed_forward.gate"}, form: mlxLFM2Moe}, back: backward{members: lfm2moeBack},
}

func firstDense(c *config, layer int64) bool { return layer < c.int("num_dense_layers") }

func laterMixture(c *config, layer int64) bool { return !firstDense(c, layer) }

func lfm2moeBack(s *settings) {
	s.convolutions()
	s.requireInt("intermediate_size", "feed_forward_length")
	s.requireInt("num_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("num_dense_layers", "leading_dense_block_count")
	s.expect("expert_gating_func", 2)
	s.put("use_expert_bias", "true")
	s.put("norm_topk_prob", "true")
	s.put("routed_scaling_factor", "1.0")
}

// lfm2vlProjector: the vision part of LFM2-VL, a SigLIP 2 whose patches are rows of a matrix.
var lfm2vlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Lfm2VlForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "16"}, {"image_size", "256"}, {"num_patches", "256"}, {"layer_norm_eps", "1e-06"}, {"text hidden_size", "2048"}},
	outer: []mapping{
		{hf: "vision_tower.vision_model.embeddings.patch_embedding", shape: dims{Hidden, llama4Patch}, typeRule: asHalf, bias: "v.patch_embd", views: []view{{
			gguf:    "v.patch_embd",
			shape:   func(c *config) []int64 { return []int64{c.hidden(), 3, 16, 16} },
			strides: func(c *config) ([]int64, int64) { return []int64{3 * 16 * 16, 1, 3 * 16, 3}, 0 },
		}}},
		{hf: "vision_tower.vision_model.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{memberSize("num_patches"), Hidden}},
		{hf: "vision_tower.vision_model.post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "multi_modal_projector.layer_norm", gguf: "mm.input_norm", shape: dims{lfm2Merged}, optional: true},
		{hf: "multi_modal_projector.linear_1", gguf: "mm.1", shape: dims{lfm2Wide, lfm2Merged}},
		{hf: "multi_modal_projector.linear_2", gguf: "mm.2", shape: dims{TextHidden, lfm2Wide}},
	},
	layer: "vision_tower.vision_model.encoder.layers.#.", layers: siglipLayers,
	check: func(c *config) error {
		if c.patch() != 16 || c.channels() != 3 {
			return wire.ErrUnsupported.Errorf("patches of %d pixels and %d colours, where llama.cpp's have 16 and 3", c.patch(), c.channels())
		}
		if v := c.full.Get("vision_feature_layer"); v.There {
			if n, ok := v.Int(); !ok || n != -1 {
				return wire.ErrUnsupported.Errorf("a vision_feature_layer other than the last one")
			}
		}
		return nil
	},
	keys: func(k *keys) {
		vision(k, "lfm2")
		k.putArch("vision.image_size", uint32(256)) // as in the converter
		k.f32("vision.attention.layer_norm_epsilon", "layer_norm_eps")
		k.putArch("vision.projector.scale_factor", uint32(lfm2Down(k.c)))
		k.put("clip.use_gelu", true)
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"vision_tower.", "multi_modal_projector.", "model.vision_tower.", "model.multi_modal_projector."}},
}

// lfm2Down is how many patches of a side become one token, lfm2Merged their width, lfm2Wide that of
// the projector.
func lfm2Down(c *config) int64 {
	if n := sizeIn(c.full, "downsample_factor"); n > 0 && n <= 64 {
		return n
	}
	return 2
}

func lfm2Merged(c *config) int64 { return lfm2Down(c) * lfm2Down(c) * c.hidden() }

func lfm2Wide(c *config) int64 { return sizeIn(c.full, "projector_hidden_size") }
