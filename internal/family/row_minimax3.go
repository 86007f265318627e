package family

import (
	"slices"
	"strings"
)

// minimax3Row: MiniMax M3, M2 with a shared expert, layers without experts before the others, norms that are
// stored minus one, and an indexer that selects blocks of tokens.
var minimax3Row = &row{
	arch: "minimax-m3", model: "minimax_m3", names: []string{"MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"},
	defaults: []preset{{"vocab_size", "200064"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "196608"}, {"head_dim", "128"}, {"scoring_func", `"sigmoid"`}},
	outer:    nextOuter, layer: decoderLayer,
	layers: lazy(func() []mapping {
		shared := func(c *config) int64 {
			return c.int("n_shared_experts") * c.int("shared_intermediate_size", "intermediate_size")
		}
		dense := memberSize("dense_intermediate_size")
		list := onlyIn(not(minimaxDense), slices.Concat(minimaxExperts, []mapping{
			{hf: "block_sparse_moe.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{shared, Hidden}},
			{hf: "block_sparse_moe.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{shared, Hidden}},
			{hf: "block_sparse_moe.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, shared}},
		}))
		plain := onlyIn(minimaxDense, []mapping{
			{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{dense, Hidden}},
			{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{dense, Hidden}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, dense}},
		})
		index := onlyIn(minimaxIndexed, []mapping{
			{hf: "self_attn.index_q_proj", gguf: "indexer.q_proj", shape: dims{minimaxIndexQ, Hidden}, typeRule: alwaysF32},
			{hf: "self_attn.index_k_proj", gguf: "indexer.k_proj", shape: dims{minimaxIndexHead, Hidden}, typeRule: alwaysF32},
			{hf: "self_attn.index_q_norm", gguf: "indexer.q_norm", shape: dims{minimaxIndexHead}},
			{hf: "self_attn.index_k_norm", gguf: "indexer.k_norm", shape: dims{minimaxIndexHead}},
		})
		all := slices.Concat(decoder(headNorms...), []mapping{ffnNorm}, plain, list, index)
		for i := range all {
			if strings.HasSuffix(all[i].hf, "norm") {
				all[i].op = addOne
			}
		}
		return all
	}),
	keys: func(k *keys) {
		minimaxKeys(k)
		k.u32("expert_shared_count", "n_shared_experts")
		k.f32("expert_weights_scale", "routed_scaling_factor")
		k.putArch("expert_weights_norm", true)
		sparse := k.c.get("sparse_attention_config")
		for _, m := range [][2]string{{"head_count", "sparse_num_index_heads"}, {"key_length", "sparse_index_dim"}, {"top_k", "sparse_topk_blocks"}, {"block_size", "sparse_block_size"}, {"local_blocks", "sparse_local_block"}} {
			n := sizeIn(sparse, m[1])
			if n < 1 {
				k.fail("sparse_attention_config", sparse, "an object with the sizes of the indexer")
				return
			}
			k.putArch("attention.indexer."+m[0], uint32(n))
		}
		first := int64(0)
		for first < k.c.layers() && minimaxDense(k.c, first) {
			first++
		}
		k.putArch("leading_dense_block_count", uint32(first))
	}, vocab: gpt2Vocab,

	check:  func(c *config) error { return perLayer(c, "moe_layer_freq") },
	naming: naming{asked: []string{"self_attn.index_q_proj.weight"}, otherParts: []string{"vision_tower.", "multi_modal_projector.", "patch_merge_mlp."}}, mlx: mlxRow{none: notCompared},
}

func minimaxDense(c *config, layer int64) bool { return listed(c, "moe_layer_freq", layer) == 0 }

// minimaxIndexed reports a layer with an indexer: those after the layers without experts.
func minimaxIndexed(c *config, layer int64) bool { return !minimaxDense(c, layer) }

func minimaxIndexHead(c *config) int64 {
	return sizeIn(c.get("sparse_attention_config"), "sparse_index_dim")
}

func minimaxIndexQ(c *config) int64 {
	return sizeIn(c.get("sparse_attention_config"), "sparse_num_index_heads") * minimaxIndexHead(c)
}
