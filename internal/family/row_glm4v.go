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
