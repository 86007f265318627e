package family

import (
	"cmp"
	"math"
)

// glm5nextProjector: the vision part of GLM-5.3 Flash: that of GLM-OCR, with gates that are cut off.
var glm5nextProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Glm5NextForConditionalGeneration"},
	defaults: []preset{
		{"in_channels", "3"}, {"image_size", "336"}, {"patch_size", "14"}, {"depth", "24"}, {"hidden_size", "1024"}, {"intermediate_size", "4096"}, {"num_heads", "16"}, {"spatial_merge_size", "2"}, {"hidden_act", `"silu"`},
		{"out_hidden_size", "1536"}, {"projection_intermediate_size", "10240"}, {"swiglu_limit", "10"}, {"text hidden_size", "4096"},
	},
	outer: []mapping{
		glm4vProjector.outer[0], glm4vProjector.outer[3], glm4vProjector.outer[4], glm4vProjector.outer[5], glm4vProjector.outer[6],
		{hf: "visual.merger.gate_proj", gguf: "mm.gate", shape: dims{memberSize("projection_intermediate_size"), glmOut}},
		{hf: "visual.merger.up_proj", gguf: "mm.up", shape: dims{memberSize("projection_intermediate_size"), glmOut}},
		{hf: "visual.merger.down_proj", gguf: "mm.down", shape: dims{glmOut, memberSize("projection_intermediate_size")}},
	},
	layer: glm4vProjector.layer,
	layers: lazy(func() []mapping {
		head := func(c *config) int64 { return c.width() / c.heads() }
		return with(visionAttention, []mapping{
			{hf: "attn.q_norm", gguf: "attn_q_norm", shape: dims{head}},
			{hf: "attn.k_norm", gguf: "attn_k_norm", shape: dims{head}},
			{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, VisionHidden}},
			{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, VisionHidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{VisionHidden, FFN}},
		}...)
	}),
	keys: func(k *keys) {
		vision(k, "glm5v")
		k.activation()
		k.epsilon(k.c.get("rms_norm_eps"), 1e-5)
		k.putArch("vision.spatial_merge_size", uint32(k.c.merge()))
		k.f32("vision.swiglu_clamp", "swiglu_limit")
		k.imageTokens("min_image_tokens", "vision.image_min_pixels")
		k.imageTokens("max_image_tokens", "vision.image_max_pixels")
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"visual.", "model.visual."}},
}

// imageTokens adds the number of pixels of an image of which the preprocessor's configuration states the
// number of tokens, if it does.
func (k *keys) imageTokens(member, key string) {
	sizes := [3]int64{0, 14, 2}
	for i, name := range []string{member, "patch_size", "merge_size"} {
		v, err := k.preprocessor(name)
		if k.err = cmp.Or(k.err, err); !v.There {
			continue
		}
		n, ok := v.Int()
		if !ok || n < 1 || n > 1<<16 {
			k.fail(name, v, "a size")
			return
		}
		sizes[i] = n
	}
	side := sizes[1] * sizes[2]
	switch {
	case sizes[0] == 0: // none is stated
	case side > math.MaxUint16 || sizes[0] > math.MaxUint32/(side*side):
		k.fail(member, k.c.get(member), "a number of tokens")
	default:
		k.putArch(key, uint32(sizes[0]*side*side))
	}
}
