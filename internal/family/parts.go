package family

import "slices"

// decoder returns the tensors of a layer with Llama's names, and those that a family adds.
func decoder(more ...mapping) []mapping {
	return with([]mapping{
		{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
	}, more...)
}

// with returns the concatenation of list and more.
func with(list []mapping, more ...mapping) []mapping { return slices.Concat(list, more) }

// permuted marks query and key matrices for the rotation of pairs that llama.cpp uses for
// Llama.
func permuted(list []mapping) []mapping {
	for i := range list {
		switch list[i].gguf {
		case "attn_q":
			list[i].op = permuteQ
		case "attn_k":
			list[i].op = permuteK
		}
	}
	return list
}

var (
	mlp = []mapping{
		{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
		{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
		{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
	}
	ffnNorm = mapping{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}}
	outer   = []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	}
)

const decoderLayer = "model.layers.#."
