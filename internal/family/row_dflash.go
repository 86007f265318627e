package family

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// DFlash drafts a block of tokens at once; DSpark adds a head that reads the token before.

// dflashRow: layers of Qwen 3 over the hidden states of some layers of the target.
var dflashRow = &row{
	arch: "dflash", model: "qwen3", names: []string{"DFlashDraftModel", "DFlash2DraftModel"}, tied: true,
	defaults: dflashDefaults, outer: with(dflashOuter, mapping{hf: "lm_head", gguf: "output", shape: dims{draftVocab, Hidden}, optional: true}), layer: decoderLayer,
	layers: lazy(dflashLayers),
	keys:   dflashKeys, vocab: targetVocab(targetOwn),

	naming: dflashNaming(), mlx: mlxRow{none: notCompared},
}

// dsparkRow: a head of the same number of tokens as the target's is the target's own, and is not written.
var dsparkRow = &row{
	arch: "dflash", model: "qwen3", names: []string{"DSparkSpeculator", "DSparkDraftModel", "Qwen3DSparkModel", "Lfm2DSparkDraftModel", "LingDSparkModel"}, tied: true,
	defaults: dflashDefaults,
	outer: with(dflashOuter,
		mapping{hf: "lm_head", gguf: "output", shape: dims{draftVocab, Hidden}, inLayer: draftsFewer},
		mapping{hf: "model.markov_head.markov_w1", gguf: "markov_w1", shape: dims{Vocab, memberSize("markov_rank")}},
		mapping{hf: "model.markov_head.markov_w2", gguf: "markov_w2", shape: dims{draftVocab, memberSize("markov_rank")}},
		mapping{hf: "model.confidence_head.proj", gguf: "conf_proj", shape: dims{One, func(c *config) int64 { return c.hidden() + c.int("markov_rank") }}, inLayer: func(c *config, _ int64) bool { return c.stores(confidence) }},
	),
	layer: decoderLayer, layers: lazy(dflashLayers),
	keys: func(k *keys) {
		dflashKeys(k)
		anchor := !k.c.root.Get("transformer_layer_config").There && !k.c.root.Get("aux_hidden_state_layer_ids").There
		k.putArch("sample_from_anchor", k.c.bool("sample_from_anchor", anchor))
		k.putArch("has_confidence_head", k.c.stores(confidence))
		k.requireMember("markov_head_type", "vanilla")
		if draftsFewer(k.c, 0) && !k.c.stores("d2t") || draftVocab(k.c) > Vocab(k.c) {
			k.fail("draft_vocab_size", k.c.get("draft_vocab_size"), "a number of tokens for which the file has the table d2t")
		}
	}, vocab: targetVocab(targetOwn),

	naming: dsparkNaming(), mlx: mlxRow{none: notCompared},
}

// dsparkNaming leaves out a head that is the target's.
func dsparkNaming() naming {
	n := dflashNaming()
	n.unneeded = func(c *config, name string) bool { return name == "lm_head.weight" && !draftsFewer(c, 0) }
	return n
}

const confidence = "confidence_head.proj.weight"

// draftsFewer reports a draft that predicts some of the target's tokens.
func draftsFewer(c *config, _ int64) bool { return draftVocab(c) < Vocab(c) }

// targetOwn reads the vocabulary as the target's class does.
func targetOwn(r *row) func(*keys) error { return r.vocab }

var dflashDefaults = []preset{{"vocab_size", "151936"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "10000"}, {"head_dim", "128"}}

func dflashNaming() naming {
	return naming{optionalPrefix: "model.", renames: [][2]string{{"model.lm_head.", "lm_head."}}, skipPrefixes: []string{"model.t2d"}, drafted: "d2t", asked: []string{"d2t", confidence, "sinks", "sink_bias", "attention_conv.base_kernel"}}
}

var dflashOuter = []mapping{
	{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}, optional: true},
	{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
	{hf: "model.hidden_norm", gguf: "enc.output_norm", shape: dims{Hidden}},
	{hf: "model.fc", gguf: "fc", shape: dims{Hidden, func(c *config) int64 { return int64(min(len(dflashLayerIDs(c).List()), maxLayers)) * c.hidden() }}},
	{hf: "model.candidate_selector.predecessor_codebook", gguf: "selector_predecessor.weight", shape: dims{Vocab, selectorRank}, noSuffix: true, inLayer: selects},
	{hf: "model.candidate_selector.successor_codebook", gguf: "selector_successor.weight", shape: dims{Vocab, selectorRank}, noSuffix: true, inLayer: selects},
	{hf: "model.candidate_selector.hidden_projection", gguf: "selector_hidden", shape: dims{selectorRank, Hidden}, inLayer: selects},
}

func dflashLayers() []mapping {
	kernel := func(c *config) int64 { return sizeIn(dflashConfig(c), "conv_kernel_size") }
	projected := func(c *config) int64 {
		each := sizeIn(dflashConfig(c), "conv_group_size")
		if each < 1 || kernel(c) > 1<<10 {
			return 0 // no tensor has this shape
		}
		return 2 * kernel(c) * (c.hidden() / each)
	}
	pair := func(*config) int64 { return 2 }
	return decoder(slices.Concat(headNorms, []mapping{ffnNorm}, mlp, []mapping{
		{hf: "self_attn.sinks", gguf: "attn_sinks.weight", shape: dims{Heads}, noSuffix: true, inLayer: func(c *config, _ int64) bool { return c.stores("sinks") }},
		{hf: "self_attn.attention_sink_bias", gguf: "attn_sinks.weight", shape: dims{Heads}, noSuffix: true, inLayer: func(c *config, _ int64) bool { return c.stores("sink_bias") }},
	}, onlyIn(selects, []mapping{
		{hf: "attention_conv.base_kernel", gguf: "attn_conv_base", shape: dims{pair, kernel, Hidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "attention_conv.kernel_projection", gguf: "attn_conv_proj", shape: dims{projected, Hidden}},
		{hf: "mlp_conv.base_kernel", gguf: "ffn_conv_base", shape: dims{pair, kernel, Hidden}, noSuffix: true, ggufNoSuffix: true},
		{hf: "mlp_conv.kernel_projection", gguf: "ffn_conv_proj", shape: dims{projected, Hidden}},
	}))...)
}

// selects reports DFlash 2, which mixes neighbours by convolutions and selects among candidates.
func selects(c *config, _ int64) bool { return dflashConfig(c).Get("conv_kernel_size").There }

func selectorRank(c *config) int64 { return sizeIn(dflashConfig(c), "selector_rank") }

func dflashConfig(c *config) jsontree.Value { return c.root.Get("dflash_config") }

// dflashLayerIDs are the layers of the target whose hidden states are read.
func dflashLayerIDs(c *config) jsontree.Value {
	if v := dflashConfig(c).Get("target_layer_ids"); v.There {
		return v
	}
	if v := c.get("aux_hidden_state_layer_ids"); v.There {
		return v
	}
	return c.get("target_layer_ids")
}

func dflashKeys(k *keys) {
	c := k.c
	qwenKeys(k)
	own := dflashConfig(c)
	member := func(name string) jsontree.Value {
		if v := own.Get(name); v.There {
			return v
		}
		return c.get(name)
	}
	if f, ok := c.rope().fraction.Float(); ok {
		k.putArch("rope.dimension_count", uint32(int64(float64(c.headDim())*min(max(f, 0), 1))))
	}
	k.numberIf("attention.value_scale", "attention_value_scale", own.Get("attention_value_scale"))
	block := int64(16)
	if v := member("block_size"); v.There {
		n, ok := v.Int()
		if !ok || n < 1 || n > 1<<16 {
			k.fail("block_size", v, "a number of tokens")
		}
		block = n
	}
	k.putArch("block_size", uint32(block))
	if selects(c, 0) {
		for _, m := range []string{"conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"} {
			n := sizeIn(own, m)
			if n < 1 {
				k.fail("dflash_config", own, "an object with "+m)
			}
			k.putArch(m, uint32(n))
		}
	}
	k.numberIf("logit_scale", "output_multiplier", member("output_multiplier"))
	if f, ok := member("final_logit_softcapping").Float(); ok && f > 0 {
		k.numberIf("final_logit_softcapping", "final_logit_softcapping", member("final_logit_softcapping"))
	}
	k.numberIf("embedding_scale", "input_embedding_scale", member("input_embedding_scale"))
	more := int64(1)
	if !own.Get("target_layer_ids").There && c.get("aux_hidden_state_layer_ids").There {
		more = 0
	}
	if v := dflashLayerIDs(c); len(v.List()) > 0 {
		k.putArch("target_layers", k.numbersOf("target_layer_ids", v, more))
	}
	k.dflashWindow(own)
	if v := c.get("is_causal"); !v.There && own.Get("causal").There {
		k.putArch("attention.causal", own.Get("causal").True())
	} else if v.There {
		k.putArch("attention.causal", v.True())
	}
	k.dflashTarget(member)
}

// dflashTarget adds what depends on the target, and refuses what was not compared.
func (k *keys) dflashTarget(member func(string) jsontree.Value) {
	c := k.c
	target := k.targetConfig()
	if target.rope().params.Get("mrope_section").There {
		k.putArch("rope.dimension_sections", []int32{int32(c.headDim() / 2), 0, 0, 0})
	}
	if v := member("mask_token_id"); v.There {
		n, ok := v.Int()
		if !ok || n < 0 || n >= Vocab(c) {
			k.fail("mask_token_id", v, "a token")
		}
		k.mask = &n
	}
	if c.get("has_embed_tokens").There && !c.bool("has_embed_tokens", true) || !c.bool("rope_is_neox_style", true) {
		k.fail("rope_is_neox_style", c.get("rope_is_neox_style"), "true, nor has_embed_tokens: no such draft was compared")
	}
	if k.has("mask_embedding.pt") {
		k.fail("mask_embedding.pt", jsontree.Value{}, "written yet")
	}
}

// dflashWindow adds the size of the attention window and which layers have one.
func (k *keys) dflashWindow(own jsontree.Value) {
	c := k.c
	all := own.Get("use_swa").True()
	wide := own.Get("swa_window_size")
	if n, ok := wide.Int(); !ok || n == 0 {
		wide = c.get("sliding_window")
	}
	n, ok := wide.Int()
	if !all && !c.bool("use_sliding_window", false) || !ok || n < 1 {
		return
	}
	list, err := limits.Make[bool](k.b, int(c.layers()))
	k.err = cmp.Or(k.err, err)
	kinds := c.get("layer_types").List()
	for i := range list {
		list[i] = all || i < len(kinds) && kinds[i].String() == "sliding_attention"
	}
	k.putArch("attention.sliding_window", uint32(min(n, 1<<31)))
	k.putArch("attention.sliding_window_pattern", list)
}

// numberIf adds a number if there is one.
func (k *keys) numberIf(key, member string, v jsontree.Value) {
	if v.There {
		k.number(key, member, v)
	}
}
