package family

import (
	"slices"
)

// Models that fill in masked tokens, and whose tokens see those after them.

// maskedKeys adds the token that stands for one to be filled in.
func maskedKeys(k *keys) {
	k.putArch("attention.causal", false)
	v := k.c.get("mask_token_id")
	if !v.There {
		return
	}
	n, ok := v.Int()
	if !ok || n < 0 || n >= 1<<32 {
		k.fail("mask_token_id", v, "an unsigned 32-bit integer")
		return
	}
	k.put("tokenizer.ggml.mask_token_id", uint32(n))
}

// dreamRow: Dream, which is Qwen 2.
var dreamRow = &row{
	arch: "dream", model: "Dream", names: []string{"DreamModel"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	keys: func(k *keys) {
		qwenKeys(k)
		maskedKeys(k)
	}, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared},
}

// rnd1Row: RND1, which is Qwen 3's mixture.
var rnd1Row = &row{
	arch: "rnd1", model: "rnd1", names: []string{"RND1"},
	defaults: qwen3moeRow.defaults, outer: outer, layer: decoderLayer, layers: qwen3moeRow.layers,
	keys: func(k *keys) {
		qwenMoeKeys(k)
		maskedKeys(k)
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}

// lladaRow: LLaDA, Llama with other names of its tensors and of the members of its configuration.
var lladaRow = &row{
	arch: "llada", model: "llada", names: []string{"LLaDAModelLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"rope_theta", "500000"}},
	outer: []mapping{
		{hf: "model.transformer.wte", gguf: "token_embd", shape: dims{lladaVocab, Hidden}},
		{hf: "model.transformer.ln_f", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "model.transformer.ff_out", gguf: "output", shape: dims{lladaVocab, Hidden}},
	},
	layer: "model.transformer.blocks.#.",
	layers: lazy(func() []mapping {
		wide := func(c *config) int64 { return c.int("mlp_hidden_size") }
		return permuted([]mapping{
			{hf: "attn_norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
			{hf: "k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
			{hf: "v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "attn_out", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "ff_norm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "ff_proj", gguf: "ffn_gate", shape: dims{wide, Hidden}},
			{hf: "up_proj", gguf: "ffn_up", shape: dims{wide, Hidden}},
			{hf: "ff_out", gguf: "ffn_down", shape: dims{Hidden, wide}},
		})
	}),
	keys: func(k *keys) {
		qwenKeys(k)
		k.u32("vocab_size", "vocab_size")
		k.putArch("rope.dimension_count", uint32(k.c.headDim()))
		k.u32("context_length", "max_sequence_length")
		k.u32("embedding_length", "d_model")
		k.u32("feed_forward_length", "mlp_hidden_size")
		k.putArch("attention.causal", false)
		k.put("diffusion.shift_logits", false)
		for _, m := range []string{"include_bias", "include_qkv_bias", "alibi", "weight_tying", "attention_layer_norm"} {
			k.requireMember(m, "false")
		}
	},
	vocab: func(k *keys) error {
		if err := gpt2Vocab(k); err != nil {
			return err
		}
		k.put("tokenizer.ggml.add_bos_token", true)
		return nil
	},

	mlx: mlxRow{none: notCompared},
}

// lladaVocab is the number of rows of the token table, which may have more than there are tokens.
func lladaVocab(c *config) int64 { return c.int("vocab_size") }

// lladaMoeRow: LLaDA-MoE, which is OLMoE.
var lladaMoeRow = &row{
	arch: "llada-moe", model: "llada_moe", names: []string{"LLaDAMoEModel", "LLaDAMoEModelLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "8192"}}, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		wide := func(c *config) int64 { return c.int("expert_intermediate_size") }
		return decoder(slices.Concat([]mapping{
			experts[0],
			{hf: "mlp.experts.*.gate_proj", gguf: "ffn_gate_exps", shape: dims{wide, Hidden}, op: stack},
			{hf: "mlp.experts.*.up_proj", gguf: "ffn_up_exps", shape: dims{wide, Hidden}, op: stack},
			{hf: "mlp.experts.*.down_proj", gguf: "ffn_down_exps", shape: dims{Hidden, wide}, op: stack},
			ffnNorm,
		}, headNorms)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("expert_feed_forward_length", "expert_intermediate_size")
		k.put("tokenizer.ggml.mask_token_id", uint32(156895)) // of its published models, as in the converter
		k.putArch("attention.causal", false)
		k.put("diffusion.shift_logits", false)
		if n := k.c.int("vocab_size"); n <= 156895 {
			k.fail("vocab_size", k.c.get("vocab_size"), "above 156895, the token that stands for one to be filled in")
		}
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}
