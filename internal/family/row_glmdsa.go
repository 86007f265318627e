package family

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// DeepSeek's latent attention over the tokens that an indexer selects: DeepSeek V3.2 and GLM-5.

// IndexHeads is the number of an indexer's heads, IndexHead the width of one, IndexQ that of all.
func IndexHeads(c *config) int64 { return c.int("index_n_heads") }

func IndexHead(c *config) int64 { return c.int("index_head_dim") }

func IndexQ(c *config) int64 { return IndexHeads(c) * IndexHead(c) }

// hasIndexer reports a layer with an indexer of its own: others take what an earlier one selected.
func hasIndexer(c *config, layer int64) bool {
	list := c.get("indexer_types").List()
	return layer >= int64(len(list)) || list[layer].String() == "full"
}

var indexer = onlyIn(hasIndexer, []mapping{
	{hf: "self_attn.indexer.wq_b", gguf: "indexer.attn_q_b", shape: dims{IndexQ, QRank}},
	{hf: "self_attn.indexer.wk", gguf: "indexer.attn_k", shape: dims{IndexHead, Hidden}},
	{hf: "self_attn.indexer.k_norm", gguf: "indexer.k_norm", shape: dims{IndexHead}},
	{hf: "self_attn.indexer.weights_proj", gguf: "indexer.proj", shape: dims{IndexHeads, Hidden}},
})

func sparseLayers() []mapping {
	return mla(with(with(with(with(onlyIn(leads, mlp), onlyIn(follows, sharedMixture)...), onlyIn(follows, []mapping{correction})...), indexer...), glmMTP...)...)
}

func sparseKeys(k *keys) {
	deepseekKeys(k)
	k.indexerKeys()
	if k.c.get("num_nextn_predict_layers").There {
		k.u32("nextn_predict_layers", "num_nextn_predict_layers")
	}
}

var deepseek32Row = &row{
	arch: "deepseek32", model: "deepseek_v32", names: []string{"DeepseekV32ForCausalLM"},
	defaults: deepseek3Row.defaults, outer: outer, layer: decoderLayer, layers: lazy(sparseLayers),
	keys: sparseKeys, vocab: gpt2Vocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

var glmdsaRow = &row{
	arch: "glm-dsa", model: "glm_moe_dsa", names: []string{"GlmMoeDsaForCausalLM"},
	defaults: deepseek3Row.defaults, outer: outer, layer: decoderLayer, layers: lazy(sparseLayers),
	keys: func(k *keys) {
		sparseKeys(k)
		k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.int("qk_rope_head_dim"), 1)))
		if k.c.get("indexer_types").There {
			k.indexerTypes(k.c.get("indexer_types").List(), "full")
		}
	}, vocab: glm4moeVocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}

// indexerKeys adds the sizes of an indexer.
func (k *keys) indexerKeys() {
	k.u32("attention.indexer.head_count", "index_n_heads")
	k.u32("attention.indexer.key_length", "index_head_dim")
	k.u32("attention.indexer.top_k", "index_topk")
}

// indexerTypes adds which layers have an indexer of their own: those of some types.
func (k *keys) indexerTypes(types []jsontree.Value, own ...string) {
	list, err := limits.Make[bool](k.b, min(len(types), maxLayers))
	if err != nil {
		k.err = cmp.Or(k.err, err)
		return
	}
	for i := range list {
		list[i] = slices.Contains(own, types[i].String())
	}
	k.putArch("attention.indexer.types", list)
}
