package family

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// glm5nextRow: GLM-5.3 Flash, layers of linear attention (KDA) between layers of latent attention over
// the tokens that an indexer selects, and several residual streams.
var glm5nextRow = &row{
	arch: "glm5-next", model: "glm5_next", names: []string{"Glm5NextForConditionalGeneration"},
	defaults: []preset{
		{"vocab_size", "154880"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "1048576"}, {"qk_rope_head_dim", "0"}, {"n_shared_experts", "1"}, {"routed_scaling_factor", "2.5"}, {"norm_topk_prob", "true"},
		{"index_topk", "2048"}, {"index_head_dim", "128"}, {"index_n_heads", "32"}, {"index_kpool", "16"}, {"index_kpool_always_select_tail", "true"}, {"hc_mult", "4"}, {"hc_eps", "1e-06"}, {"hc_sinkhorn_iters", "20"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		own := func(name, gguf string, shape dims) mapping {
			return mapping{hf: "self_attn.indexer.index_kpool_compress_" + name, gguf: "indexer_compressor_" + gguf, shape: shape, noSuffix: true, typeRule: alwaysF32}
		}
		selects := onlyIn(selectsTokens, with(indexer, own("gate", "gate", dims{IndexHead, Hidden}), own("ape", "ape", dims{memberSize("index_kpool"), IndexHead})))
		return slices.Concat(mla()[:1], []mapping{ffnNorm}, onlyIn(not(isLinear), latentAttention()), onlyIn(isLinear, kdaLayer(wideDecay, kdaHeads)), selects,
			hyperConnections("hc_attn_", "hc_ffn_"), denseMLP, sharedMixture, []mapping{correction}, glmMTP)
	}),
	keys: glm5nextKeys, vocab: glm4moeVocab, check: checkGLM5Next,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

// isLinear reports a layer of linear attention. Those that predict further tokens have none.
func isLinear(c *config, layer int64) bool {
	list := c.get("layer_types").List()
	return layer < int64(len(list)) && list[layer].String() == "linear_attention"
}

func selectsTokens(c *config, layer int64) bool { return !isLinear(c, layer) && hasIndexer(c, layer) }

// latentAttention are the tensors of latent attention alone, without the norms of the layer.
func latentAttention() []mapping {
	list := mla()
	return slices.DeleteFunc(list, func(m mapping) bool { return m.gguf == "attn_norm" || m.gguf == "ffn_norm" || m.gguf == "attn_q" })
}

// HyperStreams is the number of residual streams, HyperMix that of the weights that mix them: those of
// what a layer reads and writes, and of each stream in each.
func HyperStreams(c *config) int64 { return min(c.int("hc_mult"), 1<<10) }

func HyperMix(c *config) int64 { return (2 + HyperStreams(c)) * HyperStreams(c) }

func HyperWide(c *config) int64 { return HyperStreams(c) * c.hidden() }

// Three is a number of things: of the factors of what is read, written and mixed; of queries, keys and values.
func Three(*config) int64 { return 3 }

// hyperConnections are the weights of the streams around attention and around the feed-forward layer.
// Layers that predict further tokens have one stream.
func hyperConnections(attention, feed string) []mapping {
	var list []mapping
	for _, one := range [][2]string{{attention, "hc_attn_"}, {feed, "hc_ffn_"}} {
		list = append(list,
			mapping{hf: one[0] + "fn", gguf: one[1] + "fn", shape: dims{HyperMix, HyperWide}, noSuffix: true, typeRule: alwaysF32},
			mapping{hf: one[0] + "base", gguf: one[1] + "base", shape: dims{HyperMix}, noSuffix: true},
			mapping{hf: one[0] + "scale", gguf: one[1] + "scale", shape: dims{Three}, noSuffix: true})
	}
	return onlyIn(not(isMTPLayer), list)
}

// checkGLM5Next refuses what the converter or llama.cpp asserts.
func checkGLM5Next(c *config) error {
	pool := c.int("index_kpool")
	switch {
	case !c.bool("mla_use_nope", false) || c.int("qk_rope_head_dim") != 0:
		return refused(c, "qk_rope_head_dim", "0 beside mla_use_nope, as llama.cpp has no rotary embeddings here")
	case !c.bool("mhc", true):
		return refused(c, "mhc", "true, as llama.cpp assumes")
	case c.int("hc_mult") != 4:
		return refused(c, "hc_mult", "4, as llama.cpp asserts")
	case pool < 2 || c.int("index_topk")%pool != 0:
		return refused(c, "index_kpool", "a divisor of index_topk above 1, as llama.cpp asserts")
	case kdaHeads(c) != c.heads():
		return refused(c, "linear_attn_config", "with as many heads as the other layers have, as llama.cpp assumes")
	case int64(len(c.get("layer_types").List())) != c.hiddenLayers():
		return refused(c, "layer_types", "a list with a type for each layer")
	}
	return nil
}

func glm5nextKeys(k *keys) {
	c := k.c
	common(k)
	k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 {
		if isLinear(c, l) {
			return 0
		}
		return 1
	}))
	k.u32("vocab_size", "vocab_size")
	k.putArch("attention.layer_norm_epsilon", float32(1e-6))
	k.aheadKey()
	k.putArch("ssm.conv_kernel", uint32(kdaKernel(c)))
	k.putArch("kda.head_dim", uint32(kdaHead(c)))
	if v := c.get("linear_attn_config").Get("gate_lower_bound"); v.There {
		k.number("kda.gate_lower_bound", "linear_attn_config", v)
	}
	rank := c.int("kv_lora_rank")
	k.u32("attention.q_lora_rank", "q_lora_rank")
	k.u32("attention.kv_lora_rank", "kv_lora_rank")
	k.putArch("rope.dimension_count", uint32(0))
	k.putArch("attention.key_length", uint32(rank))
	k.putArch("attention.value_length", uint32(rank))
	k.putArch("attention.key_length_mla", uint32(c.nope()))
	k.u32("attention.value_length_mla", "v_head_dim")
	k.indexerKeys()
	k.u32("attention.indexer.kpool", "index_kpool")
	k.putArch("attention.indexer.kpool_select_tail", c.bool("index_kpool_always_select_tail", true))
	if types := c.get("indexer_types"); types.There {
		k.indexerTypes(types.List(), "full")
	}
	k.u32("hyper_connection.count", "hc_mult")
	k.u32("hyper_connection.sinkhorn_iterations", "hc_sinkhorn_iters")
	k.f32("hyper_connection.epsilon", "hc_eps")
	k.u32("leading_dense_block_count", "first_k_dense_replace")
	k.mixture()
	k.putArch("expert_weights_norm", c.bool("norm_topk_prob", true))
	k.clampAll("swiglu_limit", "swiglu_clamp_exp", "swiglu_clamp_shexp")
}

// clampAll adds a limit for each layer, where the configuration states one for all.
func (k *keys) clampAll(member string, names ...string) {
	v := k.c.get(member)
	if !v.There {
		return
	}
	limit, ok := v.Float()
	if !ok {
		k.fail(member, v, "a number")
		return
	}
	for _, name := range names {
		list, err := limits.Make[float32](k.b, int(k.c.layers()))
		k.err = cmp.Or(k.err, err)
		for i := range list {
			list[i] = float32(limit)
		}
		k.putArch(name, list)
	}
}

// refused returns the error of a member that is not what a model needs.
func refused(c *config, member, want string) error {
	return wire.At(configName, "member "+wire.Quote(member), c.get(member).Off(), wire.ErrRange.Errorf("it is not %s", want))
}
