package family

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// lagunaRow: Laguna, a mixture whose layers have as many heads as they state, each with a gate.
var lagunaRow = &row{
	arch: "laguna", model: "laguna", names: []string{"LagunaForCausalLM"},
	defaults: []preset{{"vocab_size", "100352"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"}, {"num_experts", "256"}, {"num_experts_per_tok", "8"}, {"moe_routed_scaling_factor", "1.0"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat([]mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shapeOf: func(c *config, l int64) []int64 { return []int64{layerHeads(c, l) * c.headDim(), c.hidden()} }},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "self_attn.o_proj", gguf: "attn_output", shapeOf: func(c *config, l int64) []int64 { return []int64{c.hidden(), layerHeads(c, l) * c.headDim()} }},
			{hf: "self_attn.g_proj", gguf: "attn_gate", shapeOf: func(c *config, l int64) []int64 { return []int64{layerHeads(c, l) * lagunaGate(c, l), c.hidden()} }},
			ffnNorm,
		}, headNorms, onlyIn(leads, mlp), onlyIn(follows, with(experts,
			mapping{hf: "mlp.shared_expert.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedFFN, Hidden}},
			mapping{hf: "mlp.shared_expert.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedFFN, Hidden}},
			mapping{hf: "mlp.shared_expert.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedFFN}},
			mapping{hf: "mlp.experts.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{Experts}, noSuffix: true},
		)))
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count", func(l int64) int64 { return layerHeads(k.c, l) }))
		if k.c.int("sliding_window") > 0 {
			k.u32("attention.sliding_window", "sliding_window")
			kinds := k.c.get("layer_types")
			for i, v := range kinds.List() {
				if (v.String() == "full_attention") != (i%4 == 0) {
					k.fail("layer_types", kinds, "full attention in one layer of four, from the first on, as llama.cpp assumes")
					break
				}
			}
		}
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.u32("expert_shared_feed_forward_length", "shared_expert_intermediate_size")
		k.putArch("expert_weights_norm", true)
		k.f32("expert_weights_scale", "moe_routed_scaling_factor")
		k.putArch("expert_gating_func", uint32(2))
		k.putArch("leading_dense_block_count", uint32(k.c.leadingDense()))
		k.turnedByKind()
		k.requireMember("moe_apply_router_weight_on_input", "false")
	}, vocab: lagunaVocab,

	mlx: mlxRow{none: notCompared},
}

// layerHeads returns the number of a layer's query heads.
func layerHeads(c *config, layer int64) int64 {
	list := c.get("num_attention_heads_per_layer").List()
	if layer >= int64(len(list)) {
		return c.heads()
	}
	n, ok := list[layer].Int()
	if !ok || n < 1 || n > 1<<16 {
		return 0 // no tensor has this shape
	}
	return n
}

// lagunaGate is how many gates a head of a layer has: one, or one for each of its elements.
func lagunaGate(c *config, layer int64) int64 {
	kind := c.get("gating").String()
	if list := c.get("gating_types").List(); layer < int64(len(list)) {
		kind = list[layer].String()
	}
	switch kind {
	case "per-element", "per_element":
		return c.headDim()
	case "", "per-head", "per_head":
		return 1
	}
	return 0 // no tensor has this shape
}

// lagunaVocab is a BPE of bytes. The template in a file of its own wins, and </assistant> steers.
func lagunaVocab(k *keys) error {
	if err := gpt2Vocab(k); err != nil {
		return err
	}
	for i := range k.list {
		types, ok := k.list[i].Value.([]int32)
		if !ok || k.list[i].Key != "tokenizer.ggml.token_type" {
			continue
		}
		for j := range k.list {
			texts, ok := k.list[j].Value.([]string)
			if !ok || k.list[j].Key != "tokenizer.ggml.tokens" {
				continue
			}
			if n := slices.Index(texts, "</assistant>"); n >= 0 && n < len(types) {
				types[n] = typeControl
			}
		}
	}
	if k.has(templateFile) {
		text, err := jsontree.ReadText(k.b, k.files, templateFile, maxTemplate)
		if err != nil {
			return err
		}
		k.put("tokenizer.chat_template", text)
	}
	first, _ := k.c.get("bos_token_id").Int()
	for _, v := range k.c.get("eos_token_id").List() {
		if n, ok := v.Int(); ok && n != first && n >= 0 && n < k.c.int("vocab_size") {
			k.put("tokenizer.ggml.eot_token_id", uint32(n))
			break
		}
	}
	return nil
}
