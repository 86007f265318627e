package transformers

import (
	"slices"
	"strings"
)

// A Rule decides which tensors are quantized in bitsandbytes' formats: those that
// transformers 5 replaces when it loads a model with a BitsAndBytesConfig. transformers
// decides by the classes of modules, which a file does not have; here names, shapes and
// model_type replace them. A module that is left alone although transformers would
// replace it still loads, because config.json lists it.
type Rule struct {
	// ModelTypes are those of config.json and of the configurations in it.
	ModelTypes []string
	// Named are the model types in ModelTypes that the rule has special cases for, each
	// once. A configuration may list very many types, and these are checked for every
	// tensor.
	Named []string
	// Table has the modules of the model's own type, nil if the type is unknown: then
	// names decide.
	Table *Linears
	// Class is the class of the model that config.json names, "" if it is unknown.
	Class string
	// Inside are the tables of the types in it.
	Inside []*Linears
	// Include and Exclude choose by name and override the rules; nil chooses none.
	Include, Exclude func(name string) bool
	// Has reports whether the model has a tensor.
	Has func(name string) bool
}

// A Verdict is the decision about a tensor.
type Verdict struct {
	Quantize bool
	// Transposed weights are stored [in, out], and quantized as [out, in].
	Transposed bool
	// Why is the reason for which it is left alone.
	Why Reason
	// Wrong is why a weight that was chosen by name could not be loaded quantized.
	Wrong Reason
	// Guessed says that the type is known but the table does not have the matrix, so its
	// name decides.
	Guessed bool
}

// Judge decides about one tensor.
func (r *Rule) Judge(name string, shape []int64) Verdict {
	module, isWeight := strings.CutSuffix(name, ".weight")
	switch {
	case r.Exclude != nil && r.Exclude(name):
		return Verdict{Why: Excluded}
	case !isWeight || len(shape) != 2:
		return Verdict{Why: NoMatrix}
	case shape[0] == 0 || shape[1] == 0:
		return Verdict{Why: Empty}
	}
	parts := strings.Split(module, ".")
	turned, sure := r.Transposed(module)
	if !sure {
		return Verdict{Why: UnknownLayout}
	}
	v := Verdict{Quantize: true, Transposed: turned}
	if r.Chosen(name) {
		if r.Table != nil && r.mark(module) == markOther {
			v.Wrong = r.listed(markOther, module, parts).Why
		}
		return v
	}
	why := r.notLinear
	if r.Table != nil {
		mark := r.mark(module)
		v.Guessed = mark == 0 || mark == markMixed
		switch {
		case mark == markMixed:
			why = r.kept
		case mark != 0 || !alwaysLinear()[parts[len(parts)-1]]:
			v = r.listed(mark, module, parts)
			v.Guessed = mark == 0
			return v
		}
	}
	if why := why(module, parts); why != None {
		return Verdict{Why: why, Guessed: v.Guessed}
	}
	return v
}

// Chosen reports whether a weight was asked for by name.
func (r *Rule) Chosen(name string) bool { return r.Include != nil && r.Include(name) }

// mark returns the mark of a module for a type that is in the table: from the modules
// that its classes build, from those of the types inside it, or from the last part of its
// name, if the type has such a module under some configurations only.
func (r *Rule) mark(module string) byte {
	if m := r.Table.mark(module); m != 0 {
		return m
	}
	for _, t := range r.Inside {
		if m := t.below(module); m != 0 {
			return m
		}
	}
	m := r.Table.called(module)
	for i := 0; m == 0 && i < len(r.Inside); i++ {
		m = r.Inside[i].called(module)
	}
	if m == markLinear || m == markConv1D || m == 0 && r.elsewhere(module) {
		return markMixed // a name that is always linear: its place decides
	}
	return m
}

// listed returns the verdict about a weight of a type that the table has.
func (r *Rule) listed(mark byte, module string, parts []string) Verdict {
	switch mark {
	case markLast:
		if r.inLastLayer(module) {
			return Verdict{Why: Last}
		}
		return Verdict{Quantize: true}
	case markLinear, markConv1D:
		return Verdict{Quantize: true, Transposed: mark == markConv1D}
	case markFused:
		switch {
		case slices.Contains(parts[:len(parts)-1], "experts"):
			return Verdict{Why: Expert}
		case parts[len(parts)-1] == "gate":
			return Verdict{Why: Other}
		}
		return Verdict{Why: Rearranged}
	case markOther:
		if isEmbedding(parts[len(parts)-1]) {
			return Verdict{Why: Embedding}
		}
		return Verdict{Why: Other}
	}
	why := r.kept(module, parts)
	if mark == 0 {
		why = r.notLinear(module, parts)
	}
	switch {
	case why != None:
	case mark == 0:
		why = NotBuilt
	default:
		why = NotQuantized
	}
	return Verdict{Why: why}
}

// Types that keep linear modules in float32, and all that the rule asks for.
var (
	keepWo      = []string{"t5", "mt5", "umt5", "pop2piano", "udop"}
	keepIndexer = []string{"deepseek_v32", "glm_moe_dsa", "axk2", "mistral_large4"}
	askedTypes  = slices.Concat(keepWo, keepIndexer, []string{"falcon", "deepseek_v4", "blip-2"})
)

// AsksFor reports a type that the rule asks for and does not know of yet.
func (r *Rule) AsksFor(modelType string) bool {
	return (slices.Contains(askedTypes, modelType) || HasConv1D(modelType)) && !slices.Contains(r.Named, modelType)
}

func (r *Rule) is(models ...string) bool {
	return slices.ContainsFunc(models, func(m string) bool { return slices.Contains(r.Named, m) })
}

// notLinear returns why a matrix is left alone, None if it is not.
func (r *Rule) notLinear(module string, parts []string) Reason {
	if isEmbedding(parts[len(parts)-1]) {
		return Embedding
	}
	return r.kept(module, parts)
}

// kept returns why a linear module is left alone, None if it is not.
func (r *Rule) kept(module string, parts []string) Reason {
	last := parts[len(parts)-1]
	under := func(suffixes []string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return module == s || strings.HasSuffix(module, "."+s) })
	}
	switch {
	case under(Heads) || module == "output" || module == "proj_out":
		return Head
	case last == "gate" || last == "router":
		return Router
	case IsExpert(parts):
		return Expert
	case last == "out_proj" && r.HasTensor(strings.TrimSuffix(module, "out_proj")+"in_proj_weight"):
		return Attention
	case r.is("falcon"):
		return OtherLinear
	case len(r.ModelTypes) == 0 && isConv1DSomewhere(last):
		return UnknownLayout
	case r.isLast(module, last):
		return Last
	case r.full(module, under):
		return Float32
	}
	return None
}

func (r *Rule) HasTensor(name string) bool { return r.Has != nil && r.Has(name) }

// Heads turn the hidden state into tokens.
var Heads = []string{"lm_head", "embed_out", "output_projection", "generator_lm_head", "predictions.decoder", "lm_head.decoder",
	"lm_head.out_proj", "pred_layer.proj", "vocab_projector", "mlm_score.decoder"}

// lookups are embeddings whose names do not say so.
var lookups = []string{"wte", "wpe", "shared", "relative_attention_bias", "global_relative_attention_bias", "mask_tokens", "iou_token",
	"codebook", "pos_emb", "rel_pos_emb", "freq_emb", "segment_emb", "token_embd"}

// projections are linear modules whose names say otherwise.
var projections = []string{"embedding_hidden_mapping_in", "embeddings_project"}

func isEmbedding(last string) bool {
	return slices.Contains(lookups, last) || strings.Contains(last, "embed") && !slices.Contains(projections, last) && !slices.Contains(Heads, last)
}

// IsExpert reports a module of one expert: "experts.3.w1". An "experts.3" that has a weight
// itself is a linear module in a list, which is never fused.
func IsExpert(parts []string) bool {
	for i, p := range parts[:max(len(parts)-2, 0)] {
		if p == "experts" && parts[i+1] != "" && strings.Trim(parts[i+1], "0123456789") == "" {
			return true
		}
	}
	return false
}

// isLast knows modules that hold a model's last parameter. transformers skips that module by the
// name of its last parameter: if that is a bias, it quantizes the module anyway.
func (r *Rule) isLast(module, last string) bool {
	if r.HasTensor(module + ".bias") {
		return false
	}
	switch last {
	case "score", "text_projection":
		return true
	case "visual_projection":
		return !r.HasTensor(strings.TrimSuffix(module, last) + "text_projection.weight")
	}
	return false
}

// full is transformers' _keep_in_fp32_modules, as far as linear modules are in it.
func (r *Rule) full(module string, under func([]string) bool) bool {
	switch {
	case r.is(keepWo...):
		return under([]string{"wo"})
	case r.is(keepIndexer...):
		return under([]string{"indexer.weights_proj"})
	case r.is("deepseek_v4"):
		return under([]string{"self_attn.compressor.kv_proj", "self_attn.compressor.gate_proj", "self_attn.compressor.indexer.kv_proj",
			"self_attn.compressor.indexer.gate_proj", "self_attn.compressor.indexer.scorer.weights_proj", "o_a_proj"})
	case r.is("blip-2"):
		return strings.HasPrefix(module, "qformer.")
	}
	return false
}
