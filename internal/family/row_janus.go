package family

import (
	"math"
)

// janusRow: the text model of Janus Pro, beside an encoder and a decoder of images.
var janusRow = &row{
	arch: "llama", model: "janus", names: []string{"JanusForConditionalGeneration"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{otherParts: []string{"model.aligner.", "model.vqmodel.", "model.generation_embeddings.", "model.generation_aligner.", "model.generation_head."}},
	mlx:    mlxRow{none: notCompared},
}

// janusProjector: the vision part of Janus Pro.
var janusProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"JanusForConditionalGeneration"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "16"}, {"image_size", "384"}, {"hidden_size", "1024"}, {"num_hidden_layers", "24"}, {"num_attention_heads", "16"}, {"mlp_ratio", "4.0"}, {"layer_norm_eps", "1e-06"}, {"hidden_act", `"gelu"`}, {"text hidden_size", "2048"}},
	outer: []mapping{
		{hf: "vision_model.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "vision_model.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, Hidden}},
		{hf: "vision_model.post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "aligner.fc1", gguf: "mm.0", shape: dims{TextHidden, Hidden}},
		{hf: "aligner.hidden_layers.0", gguf: "mm.1", shape: dims{TextHidden, TextHidden}},
	},
	layer:  "vision_model.encoder.layers.#.",
	layers: lazy(func() []mapping { return siglipLike("self_attn.projection_layer", janusFFN) }),
	keys: func(k *keys) {
		vision(k, "janus_pro")
		k.putArch("vision.feed_forward_length", uint32(janusFFN(k.c)))
		k.epsilon(k.c.get("layer_norm_eps"), 1e-6)
		k.activation()
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"model.vision_model.", "model.aligner.", "vision_model.", "aligner."}},
}

// janusFFN is the stated width, or a multiple of the part's.
func janusFFN(c *config) int64 {
	if n := c.int("intermediate_size"); n > 0 {
		return n
	}
	f, ok := c.get("mlp_ratio").Float()
	if !ok || !(f > 0 && f <= 64) {
		return 0 // no tensor has this shape
	}
	return int64(math.RoundToEven(float64(c.hidden()) * f))
}
