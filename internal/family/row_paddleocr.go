package family

import (
	"cmp"
	"math"
)

// paddleocrRow: the text model of PaddleOCR-VL, which is ERNIE 4.5.
var paddleocrRow = &row{
	arch: "paddleocr", model: "paddleocr_vl", names: []string{"PaddleOCRVLForConditionalGeneration"},
	defaults: ernieRow.defaults, outer: outer, layer: decoderLayer, layers: ernieRow.layers,
	keys: func(k *keys) {
		ernieRow.keys(k)
		k.sections()
	}, vocab: ernieRow.vocab,

	naming: naming{otherParts: []string{"mlp_AR.", "model.mlp_AR.", "model.projector.", "projector."}}, mlx: mlxRow{none: notCompared},
}

// paddleocrProjector: the vision part of PaddleOCR-VL, a SigLIP whose configuration states its class.
var paddleocrProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"PaddleOCRVisionModel"},
	defaults: []preset{{"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "384"}, {"spatial_merge_size", "2"}, {"text hidden_size", "1024"}},
	outer: []mapping{
		{hf: "vision_model.embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd"},
		{hf: "vision_model.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, Hidden}},
		{hf: "vision_model.post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "mlp_AR.pre_norm", gguf: "mm.input_norm", shape: dims{Hidden}},
		{hf: "mlp_AR.linear_1", gguf: "mm.1", shape: dims{Merged, Merged}},
		{hf: "mlp_AR.linear_2", gguf: "mm.2", shape: dims{TextHidden, Merged}},
	},
	layer: "vision_model.encoder.layers.#.", layers: siglipLayers,
	keys: func(k *keys) {
		vision(k, "paddleocr")
		k.pixels()
		v, err := k.preprocessor("max_pixels")
		n, _ := v.Int()
		k.err = cmp.Or(k.err, err)
		k.putArch("vision.image_size", uint32(math.Sqrt(float64(max(0, n)))))
		k.put("clip.use_gelu", true)
		k.epsilon(k.c.get("rms_norm_eps"), 1e-6)
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"visual.", "model."}, otherParts: []string{"visual.vision_model.head.", "visual.vision_model.embeddings.packing_position_embedding."}},
	vision: visionPart{keep: []string{"visual.", "mlp_AR."}},
}
