package family

import (
	"slices"
)

// youtuvlProjector: SigLIP 2 with attention windows, the vision part of Youtu-VL.
var youtuvlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"YoutuVLForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "16"}, {"image_size", "560"}, {"spatial_merge_size", "2"}, {"text hidden_size", "2048"}, {"hidden_act", `"gelu_pytorch_tanh"`}},
	outer: []mapping{
		{hf: "siglip2.vision_model.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, youtuPatch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "siglip2.vision_model.post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "merger.ln_q", gguf: "mm.input_norm", shape: dims{Hidden}},
		{hf: "merger.mlp.0", gguf: "mm.0", shape: dims{Merged, Merged}},
		{hf: "merger.mlp.2", gguf: "mm.2", shape: dims{TextHidden, Merged}},
	},
	layer: "siglip2.vision_model.encoder.layers.#.", layers: siglipLayers,
	keys: func(k *keys) {
		vision(k, "youtuvl")
		k.epsilon(k.c.get("layer_norm_eps"), 1e-6)
		switch act := k.c.get("hidden_act"); {
		case act.String() == "silu":
			k.put("clip.use_silu", true)
		case slices.Contains([]string{"gelu", "gelu_pytorch_tanh", "gelu_fast", "gelu_new", "gelu_accurate"}, act.String()):
			k.put("clip.use_gelu", true)
		default:
			k.fail("hidden_act", act, "silu or a kind of gelu")
		}
		k.putArch("vision.spatial_merge_size", uint32(max(k.c.merge(), 1)))
		k.u32("vision.window_size", "window_size")
		layers := k.c.get("fullatt_block_indexes")
		if len(layers.List()) == 0 {
			k.fail("fullatt_block_indexes", layers, "a list of layers")
		}
		k.putArch("vision.wa_layer_indexes", k.numbersOf("fullatt_block_indexes", layers, 0))
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"siglip2.", "merger."}},
}

// youtuPatch is the width of a patch as a vector.
func youtuPatch(c *config) int64 { return c.channels() * c.patch() * c.patch() }
