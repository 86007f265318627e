package family

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
)

// Models whose code is published with their weights, without a class in transformers. Names
// are those of their modeling files.

// bundledQKV are the views of queries, keys and values that a matrix holds for each group
// of heads. llama.cpp has them in three, with queries and keys in pairs.
func bundledQKV() []view {
	part := func(gguf string, which int, pairs bool) view {
		return view{gguf: gguf, cuts: func(c *config) []cut {
			q, k, v := bundledRows(c)
			list := [][]cut{q, k, v}[which]
			for i := range list {
				if pairs {
					list[i].head = c.headDim()
				}
			}
			return list
		}}
	}
	return []view{part("attn_q", 0, true), part("attn_k", 1, true), part("attn_v", 2, false)}
}

// stackedQKV are the views of all queries, then all keys, then all values, in three
// matrices.
func stackedQKV() []view {
	part := func(gguf string, pairs bool, first, rows func(*config) int64) view {
		return view{gguf: gguf, cuts: func(c *config) []cut {
			one := cut{first: first(c), rows: rows(c)}
			if pairs {
				one.head = c.headDim()
			}
			return []cut{one}
		}}
	}
	q, k := Q, KV
	return []view{
		part("attn_q", true, func(*config) int64 { return 0 }, q), part("attn_k", true, q, k),
		part("attn_v", false, func(c *config) int64 { return q(c) + k(c) }, k),
	}
}

var internlm2Row = &row{
	arch: "internlm2", model: "internlm2", names: []string{"InternLM2ForCausalLM"},
	defaults: []preset{{"vocab_size", "103168"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer: []mapping{
		{hf: "model.tok_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "output", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attention_norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attention.wqkv", shape: dims{QKV, Hidden}, views: bundledQKV()},
			{hf: "attention.wo", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "ffn_norm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "feed_forward.w1", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.w3", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "feed_forward.w2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		common(k)
		k.requireMember("bias", "false")
		k.requireMember("hidden_act", "silu")
	}, vocab: internlm2Vocab,

	attention: attention{scalings: []string{"dynamic"}}, mlx: mlxRow{none: notCompared}, back: backward{members: func(s *settings) {
		_, _, head := s.common()
		s.rotations(head)
		s.put("bias", "false")
		s.put("hidden_act", `"silu"`)
	}},
}

// internlm2Vocab adds sentencepiece's model. The token NUL gets a text that C can hold,
// reserved tokens are unused, and texts end with <|im_end|> if there is one.
func internlm2Vocab(k *keys) error {
	m, err := tokenizer.ReadSPM(k.b, k.files, tokenizer.SPMName)
	if err != nil {
		return err
	}
	if err := k.spmKeys(true); err != nil {
		return err
	}
	if k.err != nil {
		return k.err // tokens may have no types
	}
	k.put("tokenizer.ggml.add_space_prefix", m.Prefix)
	var texts []string
	var types []int32
	for i := range k.list {
		switch k.list[i].Key {
		case "tokenizer.ggml.tokens":
			texts, _ = k.list[i].Value.([]string)
		case "tokenizer.ggml.token_type":
			types, _ = k.list[i].Value.([]int32)
		}
	}
	for i, text := range texts {
		if err := k.b.Step(1); err != nil {
			return err
		}
		switch {
		case text == "\x00":
			texts[i] = "🐉"
		case types[i] == typeNormal && strings.HasPrefix(text, "[UNUSED"):
			types[i] = typeUnused
		}
	}
	return k.chatEnd(true)
}

// chatEnd makes the added token <|im_end|> the end of texts, if there is one.
func (k *keys) chatEnd(always bool) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	put := func(id int64) {
		if always || k.hasKey("tokenizer.ggml.eos_token_id") {
			k.put("tokenizer.ggml.eos_token_id", uint32(id))
		}
	}
	for m := range config.Get("added_tokens_decoder").Members() {
		if err := k.b.Step(1); err != nil {
			return err
		}
		id, err := strconv.ParseUint(m.Name, 10, 31)
		if err == nil && m.Value.Get("content").String() == "<|im_end|>" && (always || m.Value.Get("special").True()) {
			put(int64(id))
		}
	}
	if !always || !k.has(tokenizer.FileName) {
		return nil
	}
	t, err := tokenizer.ReadJSON(k.b, k.files, tokenizer.FileName)
	if err != nil {
		return err
	}
	for i := range t.Added {
		if t.Added[i].Text == "<|im_end|>" {
			put(int64(t.Added[i].ID))
		}
	}
	return nil
}

var internlm3Row = &row{
	arch: "llama", model: "internlm3", names: []string{"InternLM3ForCausalLM"},
	defaults: []preset{{"vocab_size", "128512"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: func(k *keys) {
		smollm3Keys(k)
		k.requireMember("hidden_act", "silu")
	}, vocab: internlm3Vocab,

	attention: attention{scalings: []string{"dynamic"}}, mlx: mlxRow{none: notCompared},
}

func internlm3Vocab(k *keys) error {
	if err := spmVocab(k); err != nil {
		return err
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	if space, ok := config.Get("add_prefix_space").Bool(); ok {
		k.put("tokenizer.ggml.add_space_prefix", space)
	}
	return k.chatEnd(false)
}

// baichuanRow: the 7B has rotary embeddings, the 13B has ALiBi. llama.cpp tells them apart
// by the number of layers.
var baichuanRow = &row{
	arch: "baichuan", model: "baichuan", names: []string{"BaichuanForCausalLM", "BaiChuanForCausalLM"},
	defaults: []preset{{"vocab_size", "125696"}, {"rms_norm_eps", "1e-06"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat(decoder()[:1], []mapping{
			{hf: "self_attn.W_pack", shape: dims{Hidden3, Hidden}, views: stackedQKV()},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			ffnNorm,
		}, mlp)
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("tensor_data_layout", "Meta AI original pth")
		k.putArch("rope.dimension_count", uint32(k.c.hidden()/k.c.heads()))
		if n := k.c.layers(); n != 32 && n != 40 {
			k.fail("num_hidden_layers", k.c.get("num_hidden_layers"), "32 (7B, which rotates) or 40 (13B, which does not): llama.cpp knows no others")
		}
		if k.c.kvHeads() != k.c.heads() {
			k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of attention heads")
		}
		k.requireMember("hidden_act", "silu")
	}, vocab: spmVocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: func(s *settings) {
		_, _, head := s.common()
		s.rotations(head)
		if layout, _ := s.key("tensor_data_layout"); layout != "Meta AI original pth" {
			s.fail("baichuan.tensor_data_layout", "its value is %s", valueText(layout))
		}
		n, _ := s.int("context_length")
		s.putInt("model_max_length", n)
		s.put("hidden_act", `"silu"`)
	}},
}

// minicpmRow: MiniCPM 1, 2 and 4 are Llama with three factors.
var minicpmRow = &row{
	arch: "minicpm", model: "minicpm", names: []string{"MiniCPMForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}, {"scale_emb", "1"}, {"dim_model_base", "1"}, {"scale_depth", "1"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: minicpmKeys, vocab: spmVocab,

	attention: attention{factors: longFactors((*config).rotated)}, mlx: mlxRow{none: notCompared}, back: backward{lost: "the numbers that scale_depth and dim_model_base are made of"},
}

func minicpmKeys(k *keys) {
	common(k)
	emb, ok1 := k.c.get("scale_emb").Float()
	depth, ok2 := k.c.get("scale_depth").Float()
	base, ok3 := k.c.get("dim_model_base").Float()
	if !ok1 || !ok2 || !ok3 || !(base > 0) {
		k.fail("dim_model_base", k.c.get("dim_model_base"), "a number beside scale_emb and scale_depth, each of them one")
		return
	}
	k.putArch("embedding_scale", float32(emb))
	k.putArch("residual_scale", float32(depth/math.Sqrt(float64(k.c.hiddenLayers()))))
	k.putArch("logit_scale", float32(float64(k.c.hidden())/base))
	k.requireMember("num_experts", "0")
	k.requireMember("hidden_act", "silu")
}

// exaoneRow: EXAONE 3 and 3.5 are Llama with GPT-2's names and unpermuted queries and
// keys.
var exaoneRow = &row{
	arch: "exaone", model: "exaone", names: []string{"ExaoneForCausalLM"},
	defaults: []preset{{"vocab_size", "102400"}, {"layer_norm_epsilon", "1e-05"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "ln_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.attention.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
			{hf: "attn.attention.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
			{hf: "attn.attention.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "attn.attention.out_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "ln_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.c_fc_0", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "mlp.c_fc_1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: exaoneKeys, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: exaoneBack},
}

// exaoneKeys adds the epsilon under the key that llama.cpp reads. The converter writes
// LayerNorm's, and llama.cpp does not load its files.
func exaoneKeys(k *keys) {
	common(k)
	k.f32("attention.layer_norm_rms_epsilon", "layer_norm_epsilon")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.hidden()/k.c.heads(), 1)))
	k.requireMember("activation_function", "silu")
}

func exaoneBack(s *settings) {
	_, _, head := s.common()
	n, _ := s.int("block_count")
	s.putInt("num_layers", n)
	s.rotations(head)
	s.optionalFloat("layer_norm_epsilon", "attention.layer_norm_epsilon")
	s.put("activation_function", `"silu"`)
}

// notCompared is why no folder for mlx-lm is made of a family.
const notCompared = "its tensors were not compared with those of mlx-lm"
