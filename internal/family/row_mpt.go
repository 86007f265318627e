package family

import (
	"strings"
)

// mptRow: no rotary embeddings but ALiBi.
var mptRow = &row{
	arch: "mpt", model: "mpt", names: []string{"MptForCausalLM", "MPTForCausalLM"}, tied: true, noFileType: true,
	defaults: []preset{{"vocab_size", "50368"}, {"max_seq_len", "2048"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.norm_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	},
	layer: "transformer.blocks.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "norm_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.Wqkv", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "attn.out_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "norm_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "ffn.up_proj", gguf: "ffn_up", shape: dims{FFN4, Hidden}},
			{hf: "ffn.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN4}},
		}
	}),
	keys: mptKeys, vocab: gpt2Vocab,

	attention: attention{kvHeads: mptGroups}, mlx: mlxRow{none: notCompared}, back: backward{members: mptBack},
}

func mptGroups(c *config) int64 {
	if n, _ := c.get("attn_config").Get("kv_n_heads").Int(); n != 0 {
		return n
	}
	return c.heads()
}

func mptKeys(k *keys) {
	k.u32("context_length", "max_seq_len")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("feed_forward_length", uint32(4*k.c.hidden()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	a := k.c.get("attn_config")
	if n := a.Get("kv_n_heads"); n.There && k.c.kvHeads() != k.c.heads() {
		k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
	}
	k.putArch("attention.layer_norm_epsilon", float32(1e-5))
	if v := a.Get("clip_qkv"); v.There {
		k.number("attention.clamp_kqv", "clip_qkv", v)
	}
	if v := a.Get("alibi"); !v.True() {
		k.fail("alibi", v, "true, as transformers assumes for MPT")
	}
	k.number("attention.max_alibi_bias", "alibi_bias_max", a.Get("alibi_bias_max"))
	for _, m := range []string{"qk_ln", "prefix_lm"} {
		if v := a.Get(m); v.True() {
			k.fail(m, v, "false, as llama.cpp assumes for MPT")
		}
	}
	if v := a.Get("softmax_scale"); v.There {
		k.fail("softmax_scale", v, "null, as llama.cpp assumes for MPT")
	}
	k.requireMember("expansion_ratio", "4")
	k.requireMember("logit_scale", "null")
	k.requireMember("layer_norm_epsilon", "1e-05")
}

func mptBack(s *settings) {
	hidden := s.requireInt("d_model", "embedding_length")
	s.requireInt("n_layers", "block_count")
	heads := s.requireInt("n_heads", "attention.head_count")
	s.requireInt("max_seq_len", "context_length")
	s.expect("feed_forward_length", float64(4*hidden))
	s.expect("attention.layer_norm_epsilon", float64(float32(1e-5)))
	s.expect("attention.head_count_kv", float64(heads)) // as in transformers
	s.vocabulary()
	clip, ok := s.float("attention.clamp_kqv")
	if !ok {
		clip = "null"
	}
	most, ok := s.int("attention.max_alibi_bias")
	if !ok || most < 1 {
		s.fail("mpt.attention.max_alibi_bias", "its value is %d", most)
	}
	s.put("attn_config", `{"model_type": "", "alibi": true, "alibi_bias_max": `+itoa(most)+`, "clip_qkv": `+clip+"}")
	s.put("expansion_ratio", "4")
	s.put("layer_norm_epsilon", "1e-05")
	n := int64(0)
	for name := range s.tensors {
		if err := s.b.Step(1); err != nil && s.err == nil {
			s.err = err
		}
		if strings.HasSuffix(name, ".bias") {
			n++
		}
	}
	if n > 0 {
		s.fail("mpt", "%d tensors are biases, but MPT of transformers has none", n)
	}
	s.put("no_bias", "true")
}
