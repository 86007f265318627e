package family

import (
	"cmp"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// deciRow: DeciLM and the Nemotron models that were pruned by layers: each layer has its own number of
// key heads and its own width, or no attention, one matrix instead of it, or no feed-forward layer.
var deciRow = &row{
	arch: "deci", model: "nemotron-nas", names: []string{"DeciLMForCausalLM"},
	defaults: []preset{{"vocab_size", "128256"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		keys := func(c *config, l int64) []int64 { return []int64{deciKeys(c, l) * c.headDim(), c.hidden()} }
		up := func(c *config, l int64) []int64 { return []int64{deciFFN(c, l), c.hidden()} }
		return with(onlyIn(deciAttends, []mapping{
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}, op: permuteQ},
			{hf: "self_attn.k_proj", gguf: "attn_k", shapeOf: keys, op: permuteK},
			{hf: "self_attn.v_proj", gguf: "attn_v", shapeOf: keys},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
		}), with(onlyIn(deciFeeds, []mapping{
			{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "mlp.gate_proj", gguf: "ffn_gate", shapeOf: up},
			{hf: "mlp.up_proj", gguf: "ffn_up", shapeOf: up},
			{hf: "mlp.down_proj", gguf: "ffn_down", shapeOf: func(c *config, l int64) []int64 { return []int64{c.hidden(), deciFFN(c, l)} }},
		}),
			mapping{hf: "self_attn.linear_attn", gguf: "attn_output", shape: dims{Hidden, Hidden}, inLayer: deciLinear},
			mapping{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}, inLayer: func(c *config, l int64) bool { return deciAttends(c, l) || deciLinear(c, l) }},
		)...)
	}),
	keys: func(k *keys) {
		c := k.c
		blocks := c.get("block_configs").There
		common(k)
		heads := uint32(c.hidden() / c.heads())
		if blocks {
			k.putArch("attention.key_length", heads)
			k.putArch("attention.value_length", heads)
			k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count", func(l int64) int64 {
				if deciAttends(c, l) || deciLinear(c, l) {
					return c.heads()
				}
				return 0
			}))
			k.err = cmp.Or(k.err, k.putPerLayer("feed_forward_length", func(l int64) int64 { return deciFFN(c, l) }))
		}
		if blocks || c.get("num_key_value_heads_per_layer").There {
			k.err = cmp.Or(k.err, k.putPerLayer("attention.head_count_kv", func(l int64) int64 { return deciKeys(c, l) }))
		}
		k.u32("vocab_size", "vocab_size")
		k.putArch("rope.dimension_count", uint32(c.headDim()))
	}, vocab: deciVocab,

	check: checkDeci, mlx: mlxRow{none: notCompared},
}

// checkDeci refuses lists of another length than the number of layers.
func checkDeci(c *config) error {
	for _, name := range []string{"block_configs", "num_key_value_heads_per_layer"} {
		if c.get(name).There {
			if err := perLayer(c, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// deciBlock returns how a layer is made, nothing in models whose layers are alike.
func deciBlock(c *config, layer int64) jsontree.Value {
	list := c.get("block_configs").List()
	if layer >= int64(len(list)) {
		return jsontree.Value{}
	}
	return list[layer]
}

// deciKeys returns the number of key heads of a layer.
func deciKeys(c *config, layer int64) int64 {
	if b := deciBlock(c, layer); b.There {
		n := sizeIn(b.Get("attention"), "n_heads_in_group")
		if n == 0 {
			return 0
		}
		return c.heads() / n
	}
	if c.get("num_key_value_heads_per_layer").There {
		return listed(c, "num_key_value_heads_per_layer", layer)
	}
	return c.kvHeads()
}

func deciAttends(c *config, layer int64) bool { return deciKeys(c, layer) > 0 }

func deciLinear(c *config, layer int64) bool {
	return !deciAttends(c, layer) && deciBlock(c, layer).Get("attention").Get("replace_with_linear").True()
}

func deciFeeds(c *config, layer int64) bool { return deciFFN(c, layer) > 0 }

// deciFFN returns the width of a layer's feed-forward layer: a part of the model's, rounded up.
func deciFFN(c *config, layer int64) int64 {
	b := deciBlock(c, layer)
	if !b.There {
		return FFN(c)
	}
	part, ok := b.Get("ffn").Get("ffn_mult").Float()
	if !ok || !(part >= 0 && part <= 1<<10) {
		return 0
	}
	return (int64(2*part*float64(c.hidden())/3) + 255) / 256 * 256
}

// deciVocab is that of Llama 3, or of DeciLM 7B, which has Llama 2's in tokenizer.json.
func deciVocab(k *keys) error {
	if k.c.int("vocab_size") == 128256 {
		return gpt2Vocab(k)
	}
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	return k.characters(t)
}
