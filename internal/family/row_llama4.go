package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

var mlxLlama4 = &mlxForm{visionPrefix: "language_model.", needsVision: true, names: map[string]string{
	"ffn_gate_exps": "feed_forward.experts.gate_proj", "ffn_up_exps": "feed_forward.experts.up_proj", "ffn_down_exps": "feed_forward.experts.down_proj",
}}

// isLlama4Mixture reports whether a layer has experts: the last of each interval. The others are
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

func llama4Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("intermediate_size_mlp", "feed_forward_length")
	own, ok := s.int("expert_feed_forward_length")
	if !ok {
		s.fail("llama4.expert_feed_forward_length", "it is missing, and intermediate_size depends on it")
	}
	s.replace("intermediate_size", itoa(own))
	s.requireInt("num_local_experts", "expert_count")
	s.requireInt("num_experts_per_tok", "expert_used_count")
	s.requireInt("interleave_moe_layer_step", "interleave_moe_layer_step")
	if n, ok := s.int("attention.sliding_window"); ok {
		if n != 0 {
			s.fail("llama4.attention.sliding_window", "its value is %d, which config.json cannot express", n)
		}
		kinds := ""
		for range s.layers() {
			kinds += `, "full_attention"`
		}
		if kinds != "" {
			s.put("layer_types", "["+kinds[2:]+"]")
		}
	}
	s.biases("attention_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}

// llama4Projector: the vision part of Llama 4.
var llama4Projector = &row{
	arch: "clip", prefix: "v.", names: []string{"Llama4ForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "336"}, {"hidden_size", "768"}, {"num_hidden_layers", "34"}, {"num_attention_heads", "16"}, {"intermediate_size", "5632"}, {"norm_eps", "1e-05"},
		{"vision_output_dim", "7680"}, {"projector_input_dim", "4096"}, {"projector_output_dim", "4096"}, {"pixel_shuffle_ratio", "0.5"}, {"hidden_act", `"gelu"`}, {"text hidden_size", "5120"}},
	outer: []mapping{
		{hf: "vision_model.class_embedding", gguf: "v.class_embd", shape: dims{Hidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "vision_model.patch_embedding.linear", gguf: "v.patch_embd", shape: dims{Hidden, llama4Patch}, typeRule: asHalf},
		{hf: "vision_model.positional_embedding_vlm", gguf: "v.position_embd", shape: dims{internPositions, Hidden}, noSuffix: true},
		{hf: "vision_model.layernorm_pre", gguf: "v.pre_ln", shape: dims{Hidden}},
		{hf: "vision_model.layernorm_post", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "vision_model.vision_adapter.mlp.fc1", gguf: "mm.model.mlp.1", shape: dims{memberSize("projector_input_dim"), FFN}},
		{hf: "vision_model.vision_adapter.mlp.fc2", gguf: "mm.model.mlp.2", shape: dims{memberSize("projector_output_dim"), memberSize("projector_input_dim")}},
		{hf: "multi_modal_projector.linear_1", gguf: "mm.model.fc", shape: dims{TextHidden, memberSize("vision_output_dim")}},
	},
	layer: "vision_model.model.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "ln1", shape: dims{Hidden}},
			{hf: "post_attention_layernorm", gguf: "ln2", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.o_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "llama4")
		k.f32("vision.attention.layer_norm_epsilon", "norm_eps")
		k.requireMember("hidden_act", "gelu")
		k.put("clip.use_gelu", true)
		f, ok := k.c.get("pixel_shuffle_ratio").Float()
		if !ok || !(f > 0.01 && f <= 1) {
			k.fail("pixel_shuffle_ratio", k.c.get("pixel_shuffle_ratio"), "above 0.01 and at most 1")
			return
		}
		k.putArch("vision.projector.scale_factor", uint32(1/f))
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"vision_model.", "multi_modal_projector."}},
}

// llama4Patch is the number of values in a patch.
func llama4Patch(c *config) int64 { return c.channels() * c.patch() * c.patch() }

// memberSize is a size that is a member of the configuration.
func memberSize(name string) size {
	return func(c *config) int64 { return c.int(name) }
}
