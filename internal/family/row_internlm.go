package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
)

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
