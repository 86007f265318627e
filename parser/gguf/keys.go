package gguf

import (
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const archKey = "general.architecture"

// A rule is the kind of value that llama.cpp requires for a key. A key that begins with a
// dot follows the name of the architecture.
type rule struct {
	key   string
	kind  Kind // of the value, or of the elements if list is always
	lists listUse
}

type listUse uint8

const (
	never  listUse = iota // a scalar
	either                // a scalar, or an array with one value per layer
	always                // an array
)

// rules are the arguments of llama.cpp's get_key, get_key_or_arr and get_arr
// (src/llama-model.cpp, src/llama-vocab.cpp, src/models), sorted by key.
var rules = [...]rule{
	{".attention.causal", KindBool, never},
	{".attention.clamp_kqv", KindF32, never},
	{".attention.head_count", KindU32, either},
	{".attention.head_count_kv", KindU32, either},
	{".attention.key_length", KindU32, never},
	{".attention.key_length_mla", KindU32, never},
	{".attention.key_length_swa", KindU32, never},
	{".attention.kv_lora_rank", KindU32, never},
	{".attention.layer_norm_epsilon", KindF32, never},
	{".attention.layer_norm_rms_epsilon", KindF32, never},
	{".attention.max_alibi_bias", KindF32, never},
	{".attention.q_lora_rank", KindU32, never},
	{".attention.relative_buckets_count", KindU32, never},
	{".attention.scale", KindF32, never},
	{".attention.sliding_window", KindU32, never},
	{".attention.value_length", KindU32, never},
	{".attention.value_length_mla", KindU32, never},
	{".attention.value_length_swa", KindU32, never},
	{".attn_logit_softcapping", KindF32, never},
	{".block_count", KindU32, never},
	{".context_length", KindU32, never},
	{".embedding_length", KindU32, never},
	{".expert_count", KindU32, never},
	{".expert_feed_forward_length", KindU32, either},
	{".expert_gating_func", KindU32, never},
	{".expert_group_count", KindU32, never},
	{".expert_group_used_count", KindU32, never},
	{".expert_shared_count", KindU32, never},
	{".expert_shared_feed_forward_length", KindU32, never},
	{".expert_used_count", KindU32, either},
	{".expert_weights_norm", KindBool, never},
	{".expert_weights_scale", KindF32, never},
	{".feed_forward_length", KindU32, either},
	{".final_logit_softcapping", KindF32, never},
	{".leading_dense_block_count", KindU32, never},
	{".logit_scale", KindF32, never},
	{".nextn_predict_layers", KindU32, never},
	{".pooling_type", KindU32, never},
	{".residual_scale", KindF32, never},
	{".rope.dimension_count", KindU32, never},
	{".rope.freq_base", KindF32, never},
	{".rope.scaling.attn_factor", KindF32, never},
	{".rope.scaling.factor", KindF32, never},
	{".rope.scaling.finetuned", KindBool, never},
	{".rope.scaling.original_context_length", KindU32, never},
	{".rope.scaling.type", KindString, never},
	{".rope.scaling.yarn_log_multiplier", KindF32, never},
	{".ssm.conv_kernel", KindU32, never},
	{".ssm.dt_b_c_rms", KindBool, never},
	{".ssm.group_count", KindU32, never},
	{".ssm.inner_size", KindU32, never},
	{".ssm.state_size", KindU32, never},
	{".ssm.time_step_rank", KindU32, never},
	{".use_parallel_residual", KindBool, never},
	{".vocab_size", KindU32, never},
	{".wkv.head_size", KindU32, never},
	{"general.architecture", KindString, never},
	{"general.file_type", KindU32, never},
	{"general.name", KindString, never},
	{"split.count", KindU16, never},
	{"split.no", KindU16, never},
	{"split.tensors.count", KindI32, never},
	{"tokenizer.chat_template", KindString, never},
	{"tokenizer.ggml.add_bos_token", KindBool, never},
	{"tokenizer.ggml.add_eos_token", KindBool, never},
	{"tokenizer.ggml.add_sep_token", KindBool, never},
	{"tokenizer.ggml.add_space_prefix", KindBool, never},
	{"tokenizer.ggml.bos_token_id", KindU32, never},
	{"tokenizer.ggml.eom_token_id", KindU32, never},
	{"tokenizer.ggml.eos_token_id", KindU32, never},
	{"tokenizer.ggml.eot_token_id", KindU32, never},
	{"tokenizer.ggml.fim_mid_token_id", KindU32, never},
	{"tokenizer.ggml.fim_pad_token_id", KindU32, never},
	{"tokenizer.ggml.fim_pre_token_id", KindU32, never},
	{"tokenizer.ggml.fim_rep_token_id", KindU32, never},
	{"tokenizer.ggml.fim_sep_token_id", KindU32, never},
	{"tokenizer.ggml.fim_suf_token_id", KindU32, never},
	{"tokenizer.ggml.mask_token_id", KindU32, never},
	{"tokenizer.ggml.merges", KindString, always},
	{"tokenizer.ggml.middle_token_id", KindU32, never},
	{"tokenizer.ggml.model", KindString, never},
	{"tokenizer.ggml.padding_token_id", KindU32, never},
	{"tokenizer.ggml.pre", KindString, never},
	{"tokenizer.ggml.precompiled_charsmap", KindU8, always},
	{"tokenizer.ggml.prefix_token_id", KindU32, never},
	{"tokenizer.ggml.remove_extra_whitespaces", KindBool, never},
	{"tokenizer.ggml.scores", KindF32, always},
	{"tokenizer.ggml.seperator_token_id", KindU32, never}, // ggml's spelling
	{"tokenizer.ggml.suffix_token_id", KindU32, never},
	{"tokenizer.ggml.suppress_tokens", KindI32, always},
	{"tokenizer.ggml.token_type", KindI32, always},
	{"tokenizer.ggml.token_type_count", KindU32, never},
	{"tokenizer.ggml.tokens", KindString, always},
	{"tokenizer.ggml.unknown_token_id", KindU32, never},
}

// KnownKind returns the kind that llama.cpp expects for the value of a key, whichever architecture
// the key begins with.
func KnownKind(key string) (Kind, bool) {
	r, ok := ruleFor(key)
	if at := strings.IndexByte(key, '.'); !ok && at > 0 {
		r, ok = ruleFor(key[at:])
	}
	return r.kind, ok && r.lists != always
}

func ruleFor(key string) (rule, bool) {
	i, ok := slices.BinarySearchFunc(rules[:], key, func(r rule, key string) int { return strings.Compare(r.key, key) })
	if !ok {
		return rule{}, false
	}
	return rules[i], true
}

// fits reports whether llama.cpp would accept the value.
func (r rule) fits(p *pair) bool {
	if p.kind != KindArray {
		return r.lists != always && p.kind == r.kind
	}
	switch {
	case r.lists == never:
		return false
	case r.key == "tokenizer.ggml.scores":
		return p.elem == KindF32 || p.elem == KindI32
	case r.kind == KindU8:
		return p.elem == KindU8 || p.elem == KindI8
	case r.lists == either && r.kind == KindU32:
		return p.elem == KindU32 || p.elem == KindI32 || p.elem == KindBool
	default:
		return p.elem == r.kind
	}
}

func (r rule) want() string {
	switch r.lists {
	case always:
		return "an array of " + r.kind.String()
	case either:
		return r.kind.String() + " or an array of it"
	default:
		return r.kind.String()
	}
}

func (p *pair) typeName() string {
	if p.kind == KindArray {
		return "an array of " + p.elem.String()
	}
	return p.kind.String()
}

// checkKeys adds findings about keys: their text, and values that llama.cpp would not
// accept.
func (d *decoder) checkKeys() error {
	f := d.out
	arch := ""
	if p := f.find(archKey); p != nil && p.kind == KindString {
		arch = p.str
	}
	for i := range f.pairs {
		p := &f.pairs[i]
		if err := d.checkKeyText(i, p); err != nil {
			return err
		}
		short := p.key
		if rest, ok := strings.CutPrefix(p.key, arch); ok && arch != "" && strings.HasPrefix(rest, ".") {
			short = rest
		}
		r, ok := ruleFor(short)
		if !ok {
			continue
		}
		if !r.fits(p) {
			if err := d.addFinding(CodeKeyKind, tensor.Warning, place("key", i, p.key), p.off,
				"is %s; %s requires %s and refuses the file", p.typeName(), llamaCPP, r.want()); err != nil {
				return err
			}
			continue
		}
		if err := d.checkValue(i, p, short); err != nil {
			return err
		}
	}
	return nil
}

// checkKeyText adds findings about keys that are not printable ASCII, and nested arrays.
func (d *decoder) checkKeyText(i int, p *pair) error {
	for _, c := range []byte(p.key) {
		if c <= ' ' || c > '~' {
			if err := d.addFinding(CodeKeyText, tensor.Note, place("key", i, p.key), p.off,
				"the specification allows ASCII words with dots only"); err != nil {
				return err
			}
			break
		}
	}
	if p.kind == KindArray && p.elem == KindArray {
		return d.addFinding(CodeNested, tensor.Warning, place("key", i, p.key), p.off,
			"an array of arrays: %s and ollama refuse it, %s flattens it", llamaCPP, ggufPy)
	}
	return nil
}

// LLAMA_MAX_LAYERS and LLAMA_MAX_EXPERTS of llama.cpp.
const (
	maxLayers  = 512
	maxExperts = 1024
)

// checkValue adds findings about values that llama.cpp asserts something about.
func (d *decoder) checkValue(i int, p *pair, key string) error {
	where := place("key", i, p.key)
	switch key {
	case ".block_count":
		if p.num == 0 || p.num > maxLayers {
			return d.addFinding(CodeLayers, tensor.Warning, where, p.off, "%d layers: %s aborts unless there are 1 to %d", p.num, llamaCPP, maxLayers)
		}
	case ".expert_count":
		if p.num > maxExperts {
			return d.addFinding(CodeExperts, tensor.Warning, where, p.off, "%d experts: %s aborts above %d", p.num, llamaCPP, maxExperts)
		}
	case ".attention.layer_norm_epsilon", ".attention.layer_norm_rms_epsilon":
		eps := float64(math.Float32frombits(uint32(p.num)))
		if math.IsInf(eps, 1) {
			return d.addFinding(CodeEpsilon, tensor.Warning, where, p.off, "epsilon %v: %s computes zeros at every norm", eps, llamaCPP)
		}
		if !(eps >= 0) {
			return d.addFinding(CodeEpsilon, tensor.Warning, where, p.off, "epsilon %v: %s aborts at the first norm", eps, llamaCPP)
		}
	case "split.no", "split.count":
		if key == "split.no" && p.num > 0 || key == "split.count" && p.num > 1 {
			d.part = true
		}
	case "tokenizer.ggml.precompiled_charsmap":
		return d.checkCharsMap(where, p)
	}
	return nil
}

// checkCharsMap checks that no text leads a reader out of the map.
func (d *decoder) checkCharsMap(where string, p *pair) error {
	why := "it is longer than any honest one"
	if p.num <= wire.MaxCharsMap {
		table, err := limits.Make[byte](d.b, int(p.num))
		if err != nil {
			return wire.At(Format, where, p.off, err)
		}
		defer d.b.Drop(int64(p.num))
		if err := wire.ReadInPieces(d.b, d.f.r, table, p.body.Off); err != nil {
			return wire.At(Format, where, p.body.Off, err)
		}
		if why, err = wire.CharsMap(d.b, table); err != nil {
			return wire.At(Format, where, p.body.Off, err)
		}
		if p.num == 0 {
			why = "it has no table"
		}
	}
	if why == "" {
		return nil
	}
	return d.addFinding(CodeCharsMap, tensor.Warning, where, p.off, "a map of %d bytes: %s: %s refuses it or ends in the middle of a text, builds before 2026 read out of bounds", p.num, why, llamaCPP)
}

// checkVocabulary compares the arrays and numbers about tokens.
func (d *decoder) checkVocabulary() error {
	f := d.out
	tokens := f.find(tokensKey)
	if tokens == nil || tokens.kind != KindArray {
		return nil
	}
	for i := range f.pairs {
		p := &f.pairs[i]
		rest, ok := strings.CutPrefix(p.key, "tokenizer.ggml.")
		if !ok {
			continue
		}
		switch {
		case (rest == "scores" || rest == "token_type") && p.kind == KindArray && p.num != tokens.num:
			if err := d.addFinding(CodeCount, tensor.Warning, place("key", i, p.key), p.off,
				"%d values for %d tokens: %s refuses too few, older builds read out of bounds", p.num, tokens.num, llamaCPP); err != nil {
				return err
			}
		case strings.HasSuffix(rest, "_token_id") && p.kind.integer() && outside(p, tokens.num):
			if err := d.addFinding(CodeTokenID, tensor.Warning, place("key", i, p.key), p.off,
				"token %v of %d: %s falls back to a default, builds before GHSA-g4cc-763q-h9h6 read out of bounds",
				scalarValue(p.kind, p.num), tokens.num, llamaCPP); err != nil {
				return err
			}
		}
	}
	return nil
}

// outside reports whether an id is not an index below n. -1 in a signed kind, and its
// bits in a u32, mean that there is no such token.
func outside(p *pair, n uint64) bool {
	if p.kind == KindU64 {
		return p.num >= n
	}
	id := wholeNumber(p.kind, p.num)
	if id == -1 || p.kind == KindU32 && p.num == math.MaxUint32 {
		return false
	}
	return id < 0 || uint64(id) >= n
}
