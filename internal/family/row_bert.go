package family

import (
	"slices"
)

// encoder puts the members that all encoders have.
func (s *settings) encoder() {
	s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	s.requireInt("num_attention_heads", "attention.head_count")
	s.requireInt("intermediate_size", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type") // see lostPooling
	s.classLabels()
	n := s.rows("token_embd.weight")
	s.expect("vocab_size", float64(n))
	s.putInt("vocab_size", n)
	if s.tensors["token_types.weight"] != nil {
		s.putInt("type_vocab_size", s.rows("token_types.weight"))
	}
}

func bertBack(s *settings) {
	s.encoder()
	s.classifier("the pooling layer, which its head reads")
	s.biases("", s.layers(), "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down", "attn_output_norm", "layer_output_norm")
	s.put("hidden_act", `"gelu"`)
}

func distilbertBack(s *settings) {
	s.requireInt("dim", "embedding_length")
	s.requireInt("n_layers", "block_count")
	s.requireInt("n_heads", "attention.head_count")
	s.requireInt("hidden_dim", "feed_forward_length")
	s.requireInt("max_position_embeddings", "context_length")
	s.expect("attention.layer_norm_epsilon", float64(float32(1e-12)))
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type")
	s.classLabels()
	s.classifier("")
	s.putInt("vocab_size", s.rows("token_embd.weight"))
	s.biases("", s.layers(), "attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down", "attn_output_norm", "layer_output_norm")
	s.put("activation", `"gelu"`)
}

func modernbertBack(s *settings) {
	s.encoder()
	s.classifier("")
	s.optionalFloat("norm_eps", "attention.layer_norm_rms_epsilon")
	s.requireInt("local_attention", "attention.sliding_window")
	if n, ok := s.int("attention.sliding_window_pattern"); ok {
		s.putInt("global_attn_every_n_layers", n)
	}
	if kind, there := s.key("rope.scaling.type"); there && kind != "none" {
		s.fail("modern-bert.rope.scaling.type", "its value is %s", valueText(kind))
	}
	s.optionalFloat("global_rope_theta", "rope.freq_base")
	s.optionalFloat("local_rope_theta", "rope.freq_base_swa")
	act := "gelu"
	if v, there := s.key("hidden_activation"); there {
		act, _ = v.(string)
	}
	if act != "gelu" && act != "silu" {
		s.fail("modern-bert.hidden_activation", "its value is neither gelu nor silu")
	}
	s.put("hidden_activation", `"`+act+`"`)
	if n, ok := s.int("classifier.pooling_type"); ok {
		kinds := map[int64]string{1: `"mean"`, 2: `"cls"`}
		if kinds[n] == "" {
			s.fail("modern-bert.classifier.pooling_type", "its value is %d", n)
		}
		s.put("classifier_pooling", kinds[n])
	}
	s.biases("attention_bias", s.layers(), "attn_qkv", "attn_output")
	s.biases("mlp_bias", s.layers(), "ffn_up", "ffn_down")
	s.biases("norm_bias", s.layers(), "ffn_norm")
}

// nomicbertBack uses the members of published configurations, which are named like
// GPT-2's.
func nomicbertBack(s *settings) {
	s.requireInt("n_embd", "embedding_length")
	s.requireInt("n_layer", "block_count")
	s.requireInt("n_head", "attention.head_count")
	s.requireInt("n_inner", "feed_forward_length")
	s.expect("context_length", 2048)
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.optionalFloat("rotary_emb_base", "rope.freq_base")
	s.expect("attention.causal", 0)
	_, _ = s.key("pooling_type")
	s.putInt("vocab_size", s.rows("token_embd.weight"))
	s.putInt("type_vocab_size", s.rows("token_types.weight"))
	for _, m := range [][2]string{
		{"n_positions", "8192"}, {"max_trained_positions", "2048"}, {"activation_function", `"swiglu"`}, {"causal", "false"}, {"qkv_proj_bias", "false"},
		{"mlp_fc1_bias", "false"}, {"mlp_fc2_bias", "false"}, {"prenorm", "false"}, {"rotary_emb_interleaved", "false"}, {"rotary_emb_fraction", "1.0"}, {"rotary_emb_scale_base", "null"},
	} {
		s.put(m[0], m[1])
	}
}

// Encoders for embeddings. A language model head or a pooling layer is not written, since
// llama.cpp has none, and a folder made of a GGUF file lacks it.

var (
	bertSkip  = []string{"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
	bertDrop  = []string{"cls.predictions", "cls.seq_relationship"}
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
