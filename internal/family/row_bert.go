package family

import (
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Encoders for embeddings. A language model head or a pooling layer is not written, since
// llama.cpp has none, and a folder made of a GGUF file lacks it.

// trimmed returns a name as the mappings have it: without optional prefixes, and with
// today's suffixes.
func (r *row) trimmed(name string) string {
	for _, s := range r.naming.trimPrefixes {
		if rest, ok := strings.CutPrefix(name, s); ok {
			name = rest
			break
		}
	}
	if len(r.naming.trimPrefixes) == 0 {
		if !strings.HasPrefix(name, r.naming.optionalPrefix) && !strings.HasPrefix(name, "lm_head.") {
			return r.naming.optionalPrefix + name
		}
		return name
	}
	if s, ok := strings.CutSuffix(name, ".gamma"); ok {
		return s + ".weight"
	}
	if s, ok := strings.CutSuffix(name, ".beta"); ok {
		return s + ".bias"
	}
	return name
}

var (
	bertSkip = []string{"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
	bertDrop = []string{"cls.predictions", "cls.seq_relationship"}

	bertOuter = []mapping{
		{hf: "embeddings.word_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "embeddings.position_embeddings", gguf: "position_embd", shape: dims{Positions, Hidden}},
		{hf: "embeddings.token_type_embeddings", gguf: "token_types", shape: dims{TokenTypes, Hidden}},
		{hf: "embeddings.LayerNorm", gguf: "token_embd_norm", shape: dims{Hidden}},
	}
	bertLayers = []mapping{
		{hf: "attention.self.query", gguf: "attn_q", shape: dims{Hidden, Hidden}},
		{hf: "attention.self.key", gguf: "attn_k", shape: dims{Hidden, Hidden}},
		{hf: "attention.self.value", gguf: "attn_v", shape: dims{Hidden, Hidden}},
		{hf: "attention.output.dense", gguf: "attn_output", shape: dims{Hidden, Hidden}},
		{hf: "attention.output.LayerNorm", gguf: "attn_output_norm", shape: dims{Hidden}},
		{hf: "intermediate.dense", gguf: "ffn_up", shape: dims{FFN, Hidden}},
		{hf: "output.dense", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		{hf: "output.LayerNorm", gguf: "layer_output_norm", shape: dims{Hidden}},
	}
	bertBiased   = []string{"attn_output_norm", "layer_output_norm", "token_embd_norm"}
	bertDefaults = []preset{{"vocab_size", "30522"}, {"max_position_embeddings", "512"}, {"type_vocab_size", "2"}, {"layer_norm_eps", "1e-12"}}
)

const apartBERT = "mlx-lm has no such model"

var bertRow = &row{
	arch: "bert", model: "bert", names: []string{"BertModel", "BertForMaskedLM", "CamembertModel", "BertForSequenceClassification"},
	defaults: bertDefaults, outer: with(bertOuter, bertHead...), layer: "encoder.layer.#.", layers: lazy(func() []mapping {
		return bertLayers
	}),

	biased: bertBiased,
	keys:   bertKeys, vocab: bertVocab,

	naming: naming{trimPrefixes: []string{"bert."}, skipSuffixes: bertSkip, skipPrefixes: bertDrop}, mlx: mlxRow{none: apartBERT}, back: backward{members: bertBack, matches: func(s *settings) bool { return s.text("model") == "bert" && s.tensors["token_types.weight"] != nil }},
}

var distilbertRow = &row{
	arch: "bert", model: "distilbert", names: []string{"DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification"},
	defaults: []preset{{"vocab_size", "30522"}, {"max_position_embeddings", "512"}},

	outer: with([]mapping{bertOuter[0], bertOuter[1], bertOuter[3], {hf: "pre_classifier", gguf: "cls", shape: dims{Hidden, Hidden}, inLayer: classifies}}, bertHead...), layer: "transformer.layer.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attention.q_lin", gguf: "attn_q", shape: dims{Hidden, Hidden}},
			{hf: "attention.k_lin", gguf: "attn_k", shape: dims{Hidden, Hidden}},
			{hf: "attention.v_lin", gguf: "attn_v", shape: dims{Hidden, Hidden}},
			{hf: "attention.out_lin", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "sa_layer_norm", gguf: "attn_output_norm", shape: dims{Hidden}},
			{hf: "ffn.lin1", gguf: "ffn_up", shape: dims{DistilFFN, Hidden}},
			{hf: "ffn.lin2", gguf: "ffn_down", shape: dims{Hidden, DistilFFN}},
			{hf: "output_layer_norm", gguf: "layer_output_norm", shape: dims{Hidden}},
		}
	}),
	biased: bertBiased,
	keys: func(k *keys) {
		bertKeys(k)
		k.putArch("attention.layer_norm_epsilon", float32(1e-12))
	}, vocab: bertVocab,

	naming: naming{trimPrefixes: []string{"distilbert."}, skipPrefixes: []string{"vocab_"}, skipSuffixes: bertSkip}, mlx: mlxRow{none: apartBERT}, back: backward{members: distilbertBack, matches: func(s *settings) bool { return s.text("model") == "bert" && s.tensors["token_types.weight"] == nil }},
}

// shiftedPositions returns the number of the position embedding's first rows that RoBERTa
// does not use: its positions begin after the number of the padding token.
func (c *config) shiftedPositions() int64 {
	if n, ok := c.get("pad_token_id").Int(); ok && n >= 0 && n < 1<<20 {
		return n + 1
	}
	return 0
}

const lostPositions = "the first rows of its positions, which RoBERTa has for the token that pads"

var robertaOuter = slices.Concat(bertOuter[:1], []mapping{{
	hf: "embeddings.position_embeddings", shape: dims{Positions, Hidden},
	views: []view{{
		gguf:    "position_embd",
		shape:   func(c *config) []int64 { return []int64{max(0, Positions(c)-c.shiftedPositions()), c.hidden()} },
		strides: func(c *config) ([]int64, int64) { return []int64{c.hidden(), 1}, c.shiftedPositions() * c.hidden() },
	}},
}}, bertOuter[2:])

var robertaDefaults = []preset{{"vocab_size", "50265"}, {"max_position_embeddings", "512"}, {"type_vocab_size", "2"}, {"layer_norm_eps", "1e-12"}, {"pad_token_id", "1"}}

var robertaRow = &row{
	arch: "bert", model: "roberta", names: []string{"RobertaModel", "RobertaForSequenceClassification"},
	defaults: robertaDefaults, outer: with(robertaOuter, robertaHead...), layer: "encoder.layer.#.", layers: lazy(func() []mapping {
		return bertLayers
	}),

	biased: bertBiased,
	keys:   robertaKeys, vocab: robertaVocab,

	naming: naming{trimPrefixes: []string{"roberta."}, skipSuffixes: bertSkip, skipPrefixes: bertDrop}, mlx: mlxRow{none: apartBERT}, back: backward{lost: lostPositions, matches: func(s *settings) bool { return s.text("model") == "gpt2" }},
}

var xlmrobertaRow = &row{
	arch: "bert", model: "xlm-roberta", names: []string{"XLMRobertaModel", "XLMRobertaForSequenceClassification"},
	defaults: robertaDefaults, outer: with(robertaOuter, robertaHead...), layer: "encoder.layer.#.", layers: lazy(func() []mapping {
		return bertLayers
	}),

	biased: bertBiased,
	keys:   robertaKeys, vocab: unigramVocab,

	naming: naming{trimPrefixes: []string{"roberta."}, skipSuffixes: bertSkip, skipPrefixes: bertDrop}, mlx: mlxRow{none: apartBERT}, back: backward{lost: lostPositions, matches: func(s *settings) bool { return s.text("model") == "t5" }},
}

var modernbertRow = &row{
	arch: "modern-bert", model: "modernbert", names: []string{"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification"},
	defaults: []preset{{"vocab_size", "50368"}, {"max_position_embeddings", "8192"}, {"norm_eps", "1e-05"}, {"local_attention", "128"}},

	outer: with([]mapping{
		{hf: "embeddings.tok_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "embeddings.norm", gguf: "token_embd_norm", shape: dims{Hidden}},
		{hf: "final_norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "head.dense", gguf: "cls", shape: dims{Hidden, Hidden}, inLayer: classifies},
		{hf: "head.norm", gguf: "cls.norm", shape: dims{Hidden}, inLayer: classifies},
	}, bertHead...),
	layer: "layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attn_norm", gguf: "attn_norm", shape: dims{Hidden}, inLayer: func(_ *config, layer int64) bool { return layer > 0 }},
			{hf: "attn.Wqkv", gguf: "attn_qkv", shape: dims{Hidden3, Hidden}},
			{hf: "attn.Wo", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "mlp_norm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.Wi", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			{hf: "mlp.Wo", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: modernbertKeys, vocab: modernbertVocab,

	naming: naming{trimPrefixes: []string{"model."}, skipSuffixes: bertSkip, skipPrefixes: []string{"decoder."}}, classifier: classifier{heads: []string{"head."}}, mlx: mlxRow{none: apartBERT}, back: backward{members: modernbertBack},
}

var nomicbertRow = &row{
	arch: "nomic-bert", model: "nomic_bert", names: []string{"NomicBertModel"},

	outer: []mapping{bertOuter[0], bertOuter[2], {hf: "emb_ln", gguf: "token_embd_norm", shape: dims{Hidden}}}, layer: "encoder.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attn.Wqkv", gguf: "attn_qkv", shape: dims{Hidden3, Hidden}},
			{hf: "attn.out_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "norm1", gguf: "attn_output_norm", shape: dims{Hidden}},
			{hf: "mlp.fc11", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc12", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
			{hf: "norm2", gguf: "layer_output_norm", shape: dims{Hidden}},
		}
	}),
	biased: []string{"attn_output_norm", "layer_output_norm", "token_embd_norm"},
	keys:   nomicbertKeys, vocab: bertVocab,

	naming: naming{trimPrefixes: []string{"bert."}, skipSuffixes: bertSkip, skipPrefixes: bertDrop}, mlx: mlxRow{none: apartBERT}, back: backward{members: nomicbertBack},
}

func bertKeys(k *keys) {
	common(k)
	k.putArch("attention.causal", false)
	k.classes()
	if err := k.pooling(); err != nil && k.err == nil {
		k.err = err
	}
}

func robertaKeys(k *keys) {
	bertKeys(k)
	n := Positions(k.c) - k.c.shiftedPositions()
	if n < 1 || n > 1<<31 {
		k.fail("max_position_embeddings", k.c.get("max_position_embeddings"), "more than pad_token_id")
		return
	}
	k.putArch("context_length", uint32(n))
}

func modernbertKeys(k *keys) {
	bertKeys(k)
	k.u32("attention.sliding_window", "local_attention")
	k.u32("attention.sliding_window_pattern", "global_attn_every_n_layers")
	k.putArch("rope.scaling.type", "none")
	k.u32("vocab_size", "vocab_size")
	if v := k.c.get("hidden_activation"); v.IsString() && v.String() != "" {
		k.putArch("hidden_activation", v.String())
	}
}

// nomicbertKeys refuses what the converter's NomicBertModel refuses: another kind of model
// under that name.
func nomicbertKeys(k *keys) {
	bertKeys(k)
	for _, m := range [][2]string{
		{"activation_function", "swiglu"}, {"causal", "false"}, {"qkv_proj_bias", "false"}, {"mlp_fc1_bias", "false"},
		{"mlp_fc2_bias", "false"}, {"prenorm", "false"}, {"rotary_emb_interleaved", "false"},
	} {
		name, want := m[0], m[1]
		v := k.c.root.Get(name)
		truth, isBool := v.Bool()
		if v.String() != want && !(isBool && want == "false" && !truth) {
			k.fail(name, v, want)
		}
	}
	if f, ok := k.c.root.Get("rotary_emb_fraction").Float(); !ok || f != 1 || k.c.root.Get("rotary_emb_scale_base").There {
		k.fail("rotary_emb_fraction", k.c.root.Get("rotary_emb_fraction"), "the whole head, without a scale")
	}
	positions, trained := k.c.int("n_positions"), int64(2048)
	if n, ok := k.c.get("max_trained_positions").Int(); ok {
		trained = n
	}
	if positions != 8192 || trained != 2048 {
		k.fail("n_positions", k.c.get("n_positions"), "8192, for a model trained with 2048 positions")
	}
	k.putArch("context_length", uint32(2048))
}

// pooling adds how one vector is made of those of the tokens.
func (k *keys) pooling() error {
	if err := k.poolingType(); err != nil {
		return err
	}
	if v := k.c.get("classifier_pooling"); v.There {
		n, ok := pooledBy[v.String()]
		if !ok || n == 3 {
			k.fail("classifier_pooling", v, "cls or mean")
		}
		k.putArch("classifier.pooling_type", n)
	}
	return nil
}

var pooledBy = map[string]uint32{"mean": 1, "cls": 2, "lasttoken": 3}

// poolingType adds what modules.json of sentence-transformers says about pooling.
func (k *keys) poolingType() error {
	modules, err := jsontree.Read(k.b, k.files, "modules.json", maxConfig)
	if err != nil {
		return err
	}
	for _, one := range modules.List() {
		if !strings.HasSuffix(one.Get("type").String(), "Pooling") {
			continue
		}
		name := path.Join(one.Get("path").String(), configName)
		v, err := jsontree.Read(k.b, k.files, name, maxConfig)
		if err != nil {
			return err
		}
		mode := v.Get("pooling_mode").String()
		for _, m := range [][2]string{{"pooling_mode_lasttoken", "lasttoken"}, {"pooling_mode_cls_token", "cls"}, {"pooling_mode_mean_tokens", "mean"}} {
			if v.Get(m[0]).True() {
				mode = m[1]
			}
		}
		n, ok := pooledBy[mode]
		if !ok {
			return wire.At(name, "", v.Off(), wire.ErrUnsupported.Errorf("a pooling that llama.cpp does not have"))
		}
		k.putArch("pooling_type", n)
		break
	}
	return nil
}
