package family

import (
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Qwen3-VL: its text model and its vision part. The text model reads the output of some of
// the vision part's layers too (deepstack).

var qwen3vlRow = &row{
	arch: "qwen3vl", model: "qwen3_vl", names: []string{"Qwen3VLForConditionalGeneration"},
	defaults: qwenPresets(preset{"head_dim", "128"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return qwen3Row.layers()
	}),
	keys: func(k *keys) {
		qwenKeys(k)
		k.sections()
		k.deepstackCount()
	}, vocab: spmOrBytes,

	back: backward{row: qwen3Row, members: visionText(qwen3Back)},
}

// vlExperts are experts in two stacks, the gate's columns before those of up_proj.
var vlExperts = []mapping{
	experts[0],
	{hf: "mlp.experts.gate_up_proj", shape: dims{Experts, Hidden, ExpertGateUp}, noSuffix: true, views: []view{
		expertView("ffn_gate_exps", Hidden, ExpertFFN, double(ExpertFFN), 1, 0, true), expertView("ffn_up_exps", Hidden, ExpertFFN, double(ExpertFFN), 1, 1, true),
	}},
	{hf: "mlp.experts.down_proj", shape: dims{Experts, ExpertFFN, Hidden}, noSuffix: true, views: []view{expertView("ffn_down_exps", ExpertFFN, Hidden, Hidden, 1, 0, false)}},
}

var qwen3vlmoeRow = &row{
	arch: "qwen3vlmoe", model: "qwen3_vl_moe", names: []string{"Qwen3VLMoeForConditionalGeneration"},
	defaults: qwenPresets(preset{"head_dim", "128"}, preset{"num_experts", "60"}, preset{"num_experts_per_tok", "4"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(vlExperts, ffnNorm), headNorms...)...)
	}),
	keys: func(k *keys) {
		qwenMoeKeys(k)
		k.sections()
		k.deepstackCount()
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: "mlx-lm stores its experts in another order"}, back: backward{row: qwen3moeRow, members: visionText(qwen3moeBack)},
}

// deepstackCount adds the number of those layers.
func (k *keys) deepstackCount() { k.putArch("n_deepstack_layers", uint32(len(k.c.deepstack().List()))) }

var qwen3vlOuter = slices.Concat([]mapping{
	{hf: "visual.patch_embed.proj", shape: dims{VisionHidden, Channels, Frames, Patch, Patch}, typeRule: asHalf, bias: "v.patch_embd", views: []view{frames("v.patch_embd.weight", 0), frames("v.patch_embd.weight.1", 1)}},
	{hf: "visual.pos_embed", gguf: "v.position_embd", shape: dims{VisionPositions, VisionHidden}},
	{hf: "visual.merger.norm", gguf: "v.post_ln", shape: dims{VisionHidden}},
	{hf: "visual.merger.linear_fc1", gguf: "mm.0", shape: dims{Merged, Merged}},
	{hf: "visual.merger.linear_fc2", gguf: "mm.2", shape: dims{TextHidden, Merged}},
}, deepstack())

func qwen3vlVision(model string, more ...preset) row {
	return row{
		arch: "clip", prefix: "v.", model: model,
		defaults: append(more, []preset{
			{"in_channels", "3"}, {"patch_size", "16"}, {"depth", "27"}, {"hidden_size", "1152"}, {"intermediate_size", "4304"}, {"num_heads", "16"}, {"spatial_merge_size", "2"},
			{"num_position_embeddings", "2304"}, {"text hidden_size", "4096"},
		}...),
		outer: qwen3vlOuter, layer: "visual.blocks.#.",
		layers: lazy(func() []mapping {
			return []mapping{
				visionAttention[0], visionAttention[1], visionAttention[2], visionAttention[3],
				{hf: "mlp.linear_fc1", gguf: "ffn_up", shape: dims{FFN, VisionHidden}},
				{hf: "mlp.linear_fc2", gguf: "ffn_down", shape: dims{VisionHidden, FFN}},
			}
		}),
		keys: qwen3vlKeys, vocab: noVocab,

		naming: naming{trimPrefixes: []string{"model."}}, vision: visionPart{keep: []string{"visual.", "model.visual."}},
	}
}

// visionAttention are the attention and the norms of a vision part with one matrix for queries,
// keys and values.
var visionAttention = []mapping{
	{hf: "attn.qkv", gguf: "attn_qkv", shape: dims{VisionQKV, VisionHidden}},
	{hf: "attn.proj", gguf: "attn_out", shape: dims{VisionHidden, VisionHidden}},
	{hf: "norm1", gguf: "ln1", shape: dims{VisionHidden}},
	{hf: "norm2", gguf: "ln2", shape: dims{VisionHidden}},
}

var (
	qwen3vlProjector    = named3vl("Qwen3VLForConditionalGeneration")
	qwen3vlmoeProjector = named3vl("Qwen3VLMoeForConditionalGeneration")
	qwen35Projector     = named3vl("Qwen3_5ForConditionalGeneration")
	qwen35moeProjector  = named3vl("Qwen3_5MoeForConditionalGeneration")
	qwen4expProjector   = named3vl("Qwen4ExpForConditionalGeneration")
)

func named3vl(architecture string) *row {
	r := qwen3vlVision("")
	r.names = []string{architecture}
	return &r
}

// qwen3vlKeys adds which layers the text model reads, and the image size that the position
// embedding is for.
func qwen3vlKeys(k *keys) {
	if !k.c.get("image_size").There {
		side := math.Sqrt(float64(k.c.int("num_position_embeddings")))
		k.putArch("vision.image_size", uint32(side*float64(k.c.patch())))
	}
	vision(k, "qwen3vl_merger")
	k.put("clip.use_gelu", true)
	if v := k.c.get("spatial_merge_size"); v.There {
		k.putArch("vision.spatial_merge_size", uint32(k.c.merge()))
	}
	k.epsilon(k.c.full.Get("text_config").Get("rms_norm_eps"), 1e-6)
	seen, err := limits.Make[bool](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	list := k.c.deepstack().List()
	for _, v := range list {
		n, ok := v.Int()
		if !ok || n < 0 || n >= int64(len(seen)) || seen[n] || len(list) > maxDeepstack {
			k.fail("deepstack_visual_indexes", k.c.deepstack(), "a list of layers of the vision part")
			return
		}
		seen[n] = true
	}
	k.putArch("vision.is_deepstack_layers", seen)
}
