package family

// refactRow: Refact, with one head of keys, beside values in one matrix, and ALiBi.
var refactRow = &row{
	arch: "refact", model: "gpt_refact", names: []string{"GPTRefactForCausalLM"},
	defaults: []preset{{"layer_norm_epsilon", "1e-05"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		outer[2],
	},
	layer: "transformer.h.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "ln_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.q", gguf: "attn_q", shape: dims{Hidden, Hidden}},
			{hf: "attn.kv", shape: dims{double(Head), Hidden}, views: halvesOf("attn_k", "attn_v", Head)},
			{hf: "attn.c_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "ln_2", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.gate_up_proj", shape: dims{double(refactFFN), Hidden}, views: halvesOf("ffn_gate", "ffn_up", refactFFN)},
			{hf: "mlp.c_proj", gguf: "ffn_down", shape: dims{Hidden, refactFFN}},
		}
	}),
	keys: func(k *keys) {
		k.u32("context_length", "n_positions")
		k.u32("embedding_length", "n_embd")
		k.putArch("feed_forward_length", uint32(refactFFN(k.c)))
		k.putArch("block_count", uint32(k.c.layers()))
		k.putArch("attention.head_count", uint32(k.c.heads()))
		k.putArch("attention.head_count_kv", uint32(1))
		k.f32("attention.layer_norm_rms_epsilon", "layer_norm_epsilon")
	},
	vocab: gpt2Vocab,

	attention: attention{kvHeads: One}, mlx: mlxRow{none: notCompared},
}

// refactFFN is two thirds of four times the width, rounded up to a multiple of 256.
func refactFFN(c *config) int64 {
	wide := int64(float64(2*4*c.hidden()) / 3)
	return 256 * ((wide + 255) / 256)
}

// halvesOf are the views of two consecutive matrices with as many rows.
func halvesOf(first, second string, rows size) []view {
	return []view{
		rowsOf(first, func(c *config) []cut { return []cut{{first: 0, rows: rows(c)}} }),
		rowsOf(second, func(c *config) []cut { return []cut{{first: rows(c), rows: rows(c)}} }),
	}
}
