package family

import (
	"cmp"
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// dots3Row: dots3 note, latent attention of two kinds: over the tokens that an indexer selects, and of
// other sizes in a window. A layer after the others predicts further tokens.
var dots3Row = &row{
	arch: "dots3note", model: "dots3_note", names: []string{"Dots3NoteForCausalLM", "Dots3NoteForConditionalGeneration", "Dots3NoteTextForCausalLM"},
	defaults: []preset{{"vocab_size", "152064"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "524288"}, {"n_shared_experts", "1"}},
	outer:    with(outer, mapping{hf: "model.mtp.embed_tokens", gguf: "blk.#.nextn.embed_tokens", shape: dims{Vocab, Hidden}, inLayer: dots3Predicts, ggufNumber: (*config).hiddenLayers}),
	layer:    decoderLayer,
	layers: lazy(func() []mapping {
		dense := func(c *config, l int64) bool { return isDense(c, l) || isMTPLayer(c, l) }
		return slices.Concat([]mapping{
			mla()[0], ffnNorm,
			{hf: "self_attn.q_a_proj", gguf: "attn_q_a", shape: dims{QRank, Hidden}},
			{hf: "self_attn.q_a_layernorm", gguf: "attn_q_a_norm", shape: dims{QRank}, factors: rescaled(QRank)},
			{hf: "self_attn.k_rope_only_layernorm", gguf: "attn_k_norm", shape: dims{memberSize("qk_rope_head_dim")}},
		}, dots3Full.kindMappings(not(dots3Window)), dots3Windowed.kindMappings(dots3Window), onlyIn(not(dots3Window), indexer),
			onlyIn(dense, mlp), onlyIn(not(dense), with(sharedMixture, correction)), glmMTP[:3], glmMTP[5:])
	}),
	keys: dots3Keys, check: checkDots3,
	vocab: func(k *keys) error { return k.glmTokens(specialToken{"eot", "<|endofassistant|>"}) },

	naming: naming{otherParts: []string{"vision_encoder.", "audio_encoder.", "model.vision_encoder.", "model.audio_encoder."}, asked: []string{dots3Table}},
	ahead: ahead{count: func(c *config) int64 {
		if dots3Predicts(c, 0) {
			return 1
		}
		return 0
	}}, mlx: mlxRow{none: notCompared},
}

// dots3Table is the tensor by which the converter knows that a layer predicts further tokens.
const dots3Table = "model.mtp.embed_tokens.weight"

func dots3Predicts(c *config, _ int64) bool { return c.stores(dots3Table) }

// dots3Window reports a layer whose attention has a window, as that which predicts further tokens has.
func dots3Window(c *config, layer int64) bool {
	list := c.get("layer_types").List()
	return layer >= int64(len(list)) || list[layer].String() == "sliding_attention"
}

// A latentKind is latent attention of one kind of layers, whose sizes begin with a prefix.
type latentKind struct{ prefix string }

var dots3Full, dots3Windowed = latentKind{""}, latentKind{"swa_"}

func (l latentKind) kindSize(name string) size { return memberSize(l.prefix + name) }

func (l latentKind) kindHeads(c *config) int64 {
	return min(c.int(l.prefix+"num_attention_heads"), 1<<16)
}

func (l latentKind) kindRank(c *config) int64 { return c.int(l.prefix + "kv_lora_rank") }

func (l latentKind) kindNope(c *config) int64 { return c.int(l.prefix + "qk_nope_head_dim") }

func (l latentKind) kindValue(c *config) int64 { return c.int(l.prefix + "v_head_dim") }

// kindMappings are the tensors whose shapes differ between kinds.
func (l latentKind) kindMappings(which func(*config, int64) bool) []mapping {
	rope := l.kindSize("qk_rope_head_dim")
	part := func(gguf string, keys bool) view {
		return view{gguf: gguf,
			shape: func(c *config) []int64 {
				if keys {
					return []int64{l.kindHeads(c), l.kindRank(c), l.kindNope(c)}
				}
				return []int64{l.kindHeads(c), l.kindValue(c), l.kindRank(c)}
			},
			strides: func(c *config) ([]int64, int64) {
				head := (l.kindNope(c) + l.kindValue(c)) * l.kindRank(c)
				if keys {
					return []int64{head, 1, l.kindRank(c)}, 0
				}
				return []int64{head, l.kindRank(c), 1}, l.kindNope(c) * l.kindRank(c)
			},
		}
	}
	return onlyIn(which, []mapping{
		{hf: "self_attn.q_b_proj", gguf: "attn_q_b", shape: dims{func(c *config) int64 { return l.kindHeads(c) * (l.kindNope(c) + rope(c)) }, QRank}},
		{hf: "self_attn.kv_a_proj_with_mqa", gguf: "attn_kv_a_mqa", shape: dims{func(c *config) int64 { return l.kindRank(c) + rope(c) }, Hidden}},
		{hf: "self_attn.kv_a_layernorm", gguf: "attn_kv_a_norm", shape: dims{l.kindRank}, factors: rescaled(l.kindRank)},
		{hf: "self_attn.kv_b_proj", shape: dims{func(c *config) int64 { return l.kindHeads(c) * (l.kindNope(c) + l.kindValue(c)) }, l.kindRank}, views: []view{part("attn_k_b", true), part("attn_v_b", false)}},
		{hf: "self_attn.g_proj", gguf: "attn_gate", shape: dims{l.kindHeads, Hidden}},
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, func(c *config) int64 { return l.kindHeads(c) * l.kindValue(c) }}},
	})
}

// rescaled multiplies a norm by sqrt(hidden/rank), with which the model's code multiplies what it gives.
func rescaled(rank size) []func(*config) (float64, bool) {
	return times(func(c *config) (float64, bool) {
		if !c.bool("apply_mla_qkv_lora_rescale", false) {
			return 1, true
		}
		return math.Sqrt(float64(c.hidden()) / float64(rank(c))), rank(c) > 0
	})
}

// checkDots3 refuses what the converter refuses.
func checkDots3(c *config) error {
	for _, one := range [][2]string{{"use_dsa", "true"}, {"normalization", "RMSNorm"}, {"final_norm", "RMSNorm"}, {"k_rope_only_layernorm", "true"}, {"topk_method", "noaux_tc"}, {"n_group", "1"}, {"topk_group", "1"},
		{"use_dynamic_rsf", "false"}, {"moe_gating_fp32", "false"}, {"attention_gate_type", "headwise"}, {"swa_attention_gate_type", "headwise"}} {
		if is, plain := written(c.get(one[0])); c.get(one[0]).There && (!plain || is != one[1]) {
			return refused(c, one[0], one[1]+", as the converter needs it")
		}
	}
	list := c.get("layer_types").List()
	known := func(v jsontree.Value) bool {
		return slices.Contains([]string{"sliding_attention", "full_attention", "indexed_attention"}, v.String())
	}
	switch wide := c.int("swa_head_dim"); {
	case c.get("scoring_func").String() != "sigmoid":
		return refused(c, "scoring_func", "sigmoid")
	case int64(len(list)) != c.hiddenLayers() || slices.ContainsFunc(list[:min(len(list), maxLayers)], func(v jsontree.Value) bool { return !known(v) }):
		return refused(c, "layer_types", "a list with a known type for each layer")
	case c.int("swa_qk_rope_head_dim") != c.int("qk_rope_head_dim"):
		return refused(c, "swa_qk_rope_head_dim", "that of the other layers, as llama.cpp has one")
	case c.int("swa_qk_nope_head_dim")+c.int("swa_qk_rope_head_dim") != cmp.Or(wide, 256):
		return refused(c, "swa_head_dim", "the sum of the two parts of a head")
	case c.int("swa_q_lora_rank") != c.int("q_lora_rank"):
		return refused(c, "swa_q_lora_rank", "that of the other layers, as llama.cpp has one")
	}
	return nil
}

func dots3Keys(k *keys) {
	c := k.c
	deepseekKeys(k)
	k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count", func(l int64) int64 {
		if dots3Window(c, l) {
			return dots3Windowed.kindHeads(c)
		}
		return c.heads()
	}))
	rank, nope := dots3Windowed.kindRank(c), dots3Windowed.kindNope(c)
	k.u32("attention.sliding_window", "sliding_window_size")
	windows, err := limits.Make[bool](k.b, int(c.hiddenLayers()))
	k.err = cmp.Or(k.err, err)
	for i := range windows {
		windows[i] = dots3Window(c, int64(i))
	}
	k.putArch("attention.sliding_window_pattern", windows)
	k.putArch("attention.kv_lora_rank_swa", uint32(rank))
	k.putArch("attention.key_length_swa", uint32(rank+c.int("swa_qk_rope_head_dim")))
	k.putArch("attention.value_length_swa", uint32(rank))
	k.putArch("attention.key_length_mla_swa", uint32(nope+c.int("swa_qk_rope_head_dim")))
	k.u32("attention.value_length_mla_swa", "swa_v_head_dim")
	if dots3Predicts(c, 0) {
		k.putArch("nextn_predict_layers", uint32(1))
	}
	k.indexerKeys()
	k.indexerTypes(c.get("layer_types").List(), "full_attention", "indexed_attention")
}
