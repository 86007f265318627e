package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// pixtralDefaults are members that published configurations of Pixtral omit.
var pixtralDefaults = []preset{
	{"num_channels", "3"}, {"image_size", "1024"}, {"patch_size", "16"}, {"hidden_size", "1024"}, {"intermediate_size", "4096"}, {"num_hidden_layers", "24"},
	{"num_attention_heads", "16"}, {"text hidden_size", "4096"}, {"hidden_act", `"gelu"`},
}

var pixtralOuter = []mapping{
	{hf: "vision_tower.patch_conv", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf},
	{hf: "vision_tower.ln_pre", gguf: "v.pre_ln", shape: dims{Hidden}},
	{hf: "multi_modal_projector.linear_1", gguf: "mm.1", shape: dims{TextHidden, Hidden}},
	{hf: "multi_modal_projector.linear_2", gguf: "mm.2", shape: dims{TextHidden, TextHidden}},
}

var pixtralLayers = []mapping{
	{hf: "attention.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}, op: permuteQ},
	{hf: "attention.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}, op: permuteK},
	{hf: "attention.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
	{hf: "attention.o_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
	{hf: "attention_norm", gguf: "ln1", shape: dims{Hidden}},
	{hf: "feed_forward.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
	{hf: "feed_forward.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
	{hf: "feed_forward.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
	{hf: "ffn_norm", gguf: "ln2", shape: dims{Hidden}},
}

var towerAlone = []string{"vision_tower.", "multi_modal_projector."}

var pixtralProjector = &row{
	arch: "clip", prefix: "v.", model: "pixtral", names: []string{"LlavaForConditionalGeneration"},
	defaults: pixtralDefaults, outer: pixtralOuter, layer: "vision_tower.transformer.layers.#.", layers: lazy(func() []mapping {
		return pixtralLayers
	}),
	keys: pixtralKeys, vocab: noVocab,

	vision: visionPart{keep: towerAlone},
}

var mistral3Projector = &row{
	arch: "clip", prefix: "v.", model: "pixtral", names: []string{"Mistral3ForConditionalGeneration"},
	defaults: append(pixtralDefaults[:len(pixtralDefaults):len(pixtralDefaults)], preset{"spatial_merge_size", "2"}),
	outer: with(pixtralOuter,
		mapping{hf: "multi_modal_projector.norm", gguf: "mm.input_norm", shape: dims{Hidden}},
		mapping{hf: "multi_modal_projector.patch_merger.merging_layer", gguf: "mm.patch_merger", shape: dims{Hidden, Merged}, typeRule: asHalf},
	),
	layer: "vision_tower.transformer.layers.#.", layers: lazy(func() []mapping {
		return pixtralLayers
	}),
	keys: pixtralKeys, vocab: noVocab,

	vision: visionPart{keep: towerAlone},
}

func pixtralKeys(k *keys) {
	vision(k, "pixtral")
	k.epsilon(k.c.get("layer_norm_eps"), 1e-5)
	k.activation()
	if k.c.full.Get("spatial_merge_size").There || k.c.get("spatial_merge_size").There {
		k.putArch("vision.spatial_merge_size", uint32(k.c.merge()))
	}
}

// onlyPixtral refuses a model without a vision_config, for which the class takes CLIP's, as of
// LLaVA 1.5.
func onlyPixtral(c *config) error {
	if c.root.Get("vision_config").There {
		return nil
	}
	return wire.ErrUnsupported.Errorf("%s has no vision_config, so its vision part is CLIP (LLaVA 1.5): only Pixtral is supported for this architecture (%s writes names as they are)", wire.Quote(c.row.names[0]), wire.OptionRawNames)
}

var pixtralTextRow = &row{
	check: onlyPixtral,
	arch:  "llama", model: "mistral", names: []string{"LlavaForConditionalGeneration"},
	defaults: []preset{
		{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "131072"}, {"rope_theta", "10000"},
		{"num_attention_heads", "32"}, {"num_key_value_heads", "8"},
	},
	outer: outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return llamaRow.layers()
	}), keys: llamaKeys, vocab: llamaVocab,
}

var mistral3TextRow = &row{
	arch: "mistral3", model: "mistral3", names: []string{"Mistral3ForConditionalGeneration"},
	defaults: pixtralTextRow.defaults, outer: outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return llamaRow.layers()
	}),
	keys: func(k *keys) {
		if k.c.text.Get("model_type").String() == "ministral3" {
			ministral3Keys(k)
			return
		}
		llamaKeys(k)
	}, vocab: llamaVocab,

	back: backward{row: llamaRow, members: llamaBack, matches: func(s *settings) bool { return !s.isMinistral3() }},
}
