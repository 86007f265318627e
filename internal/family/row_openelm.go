package family

import (
	"cmp"
)

// openelmRow: OpenELM, whose layers have their own numbers of heads and widths. Its vocabulary is Llama 2's,
// which published folders do not have: tokenizer.model must be beside the weights.
var openelmRow = &row{
	arch: "openelm", model: "openelm", names: []string{"OpenELMForCausalLM"}, tied: true,
	defaults: []preset{{"num_attention_heads", "1"}, {"rope_freq_constant", "10000"}, {"max_context_length", "2048"}},
	outer: []mapping{
		{hf: "transformer.token_embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.norm", gguf: "output_norm", shape: dims{Hidden}},
	},
	layer: "transformer.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attn_norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "attn.qkv_proj", gguf: "attn_qkv", shapeOf: func(c *config, l int64) []int64 {
				return []int64{(listed(c, "num_query_heads", l) + 2*listed(c, "num_kv_heads", l)) * c.headDim(), c.hidden()}
			}},
			{hf: "attn.q_norm", gguf: "attn_q_norm", shape: dims{Head}},
			{hf: "attn.k_norm", gguf: "attn_k_norm", shape: dims{Head}},
			{hf: "attn.out_proj", gguf: "attn_output", shapeOf: func(c *config, l int64) []int64 {
				return []int64{c.hidden(), listed(c, "num_query_heads", l) * c.headDim()}
			}},
			{hf: "ffn_norm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "ffn.proj_1", shapeOf: func(c *config, l int64) []int64 { return []int64{2 * openelmFFN(c, l), c.hidden()} }, views: []view{halfRows("ffn_gate", 1), halfRows("ffn_up", 2)}},
			{hf: "ffn.proj_2", gguf: "ffn_down", shapeOf: func(c *config, l int64) []int64 { return []int64{c.hidden(), openelmFFN(c, l)} }},
		}
	}),
	keys: func(k *keys) {
		c := k.c
		k.putArch("block_count", uint32(c.layers()))
		k.u32("context_length", "max_context_length")
		k.u32("embedding_length", "model_dim")
		k.err = cmp.Or(k.err, k.putPerLayer("feed_forward_length", func(l int64) int64 { return openelmFFN(c, l) }))
		k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count", func(l int64) int64 { return listed(c, "num_query_heads", l) }))
		k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 { return listed(c, "num_kv_heads", l) }))
		k.f32("rope.freq_base", "rope_freq_constant")
		k.putArch("attention.layer_norm_rms_epsilon", float32(1e-6))
		k.putArch("rope.dimension_count", uint32(c.headDim()))
		k.putArch("attention.key_length", uint32(c.headDim()))
		k.putArch("attention.value_length", uint32(c.headDim()))
		k.requireMember("ffn_with_glu", "true")
		k.requireMember("share_input_output_layers", "true")
	}, vocab: spmVocab,

	check: func(c *config) error { return perLayer(c, "num_query_heads", "num_kv_heads", "ffn_multipliers") }, mlx: mlxRow{none: notCompared},
}

// openelmFFN is a part of the model's width, rounded to a multiple of ffn_dim_divisor.
func openelmFFN(c *config, layer int64) int64 {
	divisor := c.int("ffn_dim_divisor")
	list := c.get("ffn_multipliers").List()
	if layer >= int64(len(list)) || divisor < 1 || divisor > 1<<16 {
		return 0
	}
	part, ok := list[layer].Float()
	if !ok || !(part >= 0 && part <= 1<<10) {
		return 0
	}
	wide := part * float64(c.hidden())
	n := max(divisor, int64(wide+float64(divisor)/2)/divisor*divisor)
	if float64(n) < 0.9*wide {
		n += divisor
	}
	return n
}
