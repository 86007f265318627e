package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The text models of GLM-4.1V, GLM-4.5V and GLM-OCR.

// glm4vRow: GLM-4, whose queries and keys rotate in pairs where llama.cpp has halves.
var glm4vRow = &row{
	arch: "glm4", model: "glm4v", names: []string{"Glm4vForConditionalGeneration"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "32768"}, {"partial_rotary_factor", "0.5"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer, layers: lazy(glm4vLayers),
	keys: func(k *keys) {
		glm4Keys(k)
		k.sections()
	}, vocab: glm4Vocab,

	check: sectioned, mlx: mlxRow{none: notCompared},
}

// glmocrRow: GLM-OCR is the same, followed by layers that predict further tokens.
var glmocrRow = &row{
	arch: "glm4", model: "glm_ocr", names: []string{"GlmOcrForConditionalGeneration"},
	defaults: glm4vRow.defaults, outer: outer, layer: decoderLayer, layers: lazy(func() []mapping { return with(glm4vLayers(), glmMTP...) }),
	keys: func(k *keys) {
		glm4vRow.keys(k)
		k.u32("nextn_predict_layers", "num_nextn_predict_layers")
	}, vocab: glm4Vocab,

	check: sectioned, ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

// glm4vmoeRow: the text model of GLM-4.5V.
var glm4vmoeRow = &row{
	arch: "glm4moe", model: "glm4v_moe", names: []string{"Glm4vMoeForConditionalGeneration"},
	defaults: glm4moeRow.defaults, outer: outer, layer: decoderLayer, layers: glm4moeRow.layers,
	keys: func(k *keys) {
		glm4moeKeys(k)
		k.sections()
	}, vocab: glm4moeVocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

// sectioned refuses a model whose rotations have no sections: the converter then leaves the order of
// rows as it is.
func sectioned(c *config) error {
	if c.rope().params.Get("mrope_section").There {
		return nil
	}
	return wire.ErrMissing.Errorf("rope_parameters has no mrope_section, which says how queries and keys rotate")
}

func glm4vLayers() []mapping {
	list := glm4Row.layers()
	out := append([]mapping(nil), list...)
	for i := range out {
		switch n := out[i]; n.gguf {
		case "attn_q":
			out[i] = mapping{hf: n.hf, shape: n.shape, views: []view{rowsOf("attn_q", func(c *config) []cut { return turnedApart(c, c.heads()) })}}
		case "attn_k":
			out[i] = mapping{hf: n.hf, shape: n.shape, views: []view{rowsOf("attn_k", func(c *config) []cut { return turnedApart(c, c.kvHeads()) })}}
		}
	}
	return out
}

// turnedApart returns the rows of heads, of which those that rotate are in pairs that become halves.
func turnedApart(c *config, heads int64) (list []cut) {
	head, turned := c.headDim(), c.rotatedDims()
	for h := range heads {
		list = append(list, cut{first: h * head, rows: turned, head: turned, apart: true})
		if turned < head {
			list = append(list, cut{first: h*head + turned, rows: head - turned})
		}
	}
	return list
}

// glm4vProjector: the vision part of GLM-4.1V, GLM-4.5V and GLM-OCR.
var glm4vProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Glm4vForConditionalGeneration", "Glm4vMoeForConditionalGeneration", "GlmOcrForConditionalGeneration"},
	defaults: []preset{{"in_channels", "3"}, {"image_size", "336"}, {"patch_size", "14"}, {"depth", "24"}, {"hidden_size", "1536"}, {"num_heads", "12"}, {"spatial_merge_size", "2"}, {"hidden_act", `"silu"`}, {"text hidden_size", "4096"}},
	outer: []mapping{
		{hf: "visual.patch_embed.proj", shape: dims{VisionHidden, Channels, Frames, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd", views: []view{frames("v.patch_embd.weight", 0), frames("v.patch_embd.weight.1", 1)}},
		{hf: "visual.embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, VisionHidden}, inLayer: glmNotOCR},
		{hf: "visual.post_conv_layernorm", gguf: "v.norm_embd", shape: dims{VisionHidden}, inLayer: glmNotOCR},
		{hf: "visual.post_layernorm", gguf: "v.post_ln", shape: dims{VisionHidden}},
		{hf: "visual.downsample", gguf: "mm.patch_merger", shape: dims{glmOut, VisionHidden, glmSide, glmSide}, typeRule: asHalf, bias: "mm.patch_merger"},
		{hf: "visual.merger.proj", gguf: "mm.model.fc", shape: dims{glmOut, glmOut}},
		{hf: "visual.merger.post_projection_norm", gguf: "mm.post_norm", shape: dims{glmOut}},
		{hf: "visual.merger.gate_proj", gguf: "mm.gate", shape: dims{FFN, glmOut}},
		{hf: "visual.merger.up_proj", gguf: "mm.up", shape: dims{FFN, glmOut}},
		{hf: "visual.merger.down_proj", gguf: "mm.down", shape: dims{glmOut, FFN}},
	},
	layer: "visual.blocks.#.",
	layers: lazy(func() []mapping {
		head := func(c *config) int64 { return c.width() / c.heads() }
		return []mapping{
			{hf: "attn.qkv", gguf: "attn_qkv", shape: dims{VisionQKV, VisionHidden}},
			{hf: "attn.proj", gguf: "attn_out", shape: dims{VisionHidden, VisionHidden}},
			{hf: "attn.q_norm", gguf: "attn_q_norm", shape: dims{head}, inLayer: glmOCR},
			{hf: "attn.k_norm", gguf: "attn_k_norm", shape: dims{head}, inLayer: glmOCR},
			{hf: "norm1", gguf: "ln1", shape: dims{VisionHidden}},
			{hf: "norm2", gguf: "ln2", shape: dims{VisionHidden}},
			{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{glmFFN, VisionHidden}},
			{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{glmFFN, VisionHidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{VisionHidden, glmFFN}},
		}
	}),
	keys: func(k *keys) {
		vision(k, "glm4v")
		k.activation()
		k.epsilon(k.c.get("rms_norm_eps"), 1e-5)
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"visual.", "model.visual."}},
}

func glmOut(c *config) int64 { return c.int("out_hidden_size") }

func glmSide(c *config) int64 { return c.merge() }

// glmOCR reports GLM-OCR, which has norms of each head, and no position embeddings.
func glmOCR(c *config, _ int64) bool {
	list := c.full.Get("architectures").List()
	return len(list) == 1 && list[0].String() == "GlmOcrForConditionalGeneration"
}

func glmNotOCR(c *config, layer int64) bool { return !glmOCR(c, layer) }

// glmFFN is the width of the layers: that of GLM-OCR, or what comes out of the vision part.
func glmFFN(c *config) int64 {
	if glmOCR(c, 0) {
		return FFN(c)
	}
	return glmOut(c)
}
