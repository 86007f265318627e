package family

import (
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// dbrxRow: DBRX, whose configuration has attention and feed-forward layers apart.
var dbrxRow = &row{
	arch: "dbrx", model: "dbrx", names: []string{"DbrxForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"max_seq_len", "2048"}},
	outer: []mapping{
		{hf: "transformer.wte", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "transformer.norm_f", gguf: "output_norm", shape: dims{Hidden}},
		outer[2],
	},
	layer: "transformer.blocks.#.",
	layers: lazy(func() []mapping {
		rows := func(c *config) int64 { return c.dbrxExperts() * c.dbrxFFN() }
		expert := func(c *config) []int64 { return []int64{c.dbrxExperts(), c.dbrxFFN(), c.hidden()} }
		plain := func(gguf string) []view {
			return []view{{gguf: gguf, shape: expert, strides: func(c *config) ([]int64, int64) { return []int64{c.dbrxFFN() * c.hidden(), c.hidden(), 1}, 0 }}}
		}
		turned := []view{{gguf: "ffn_down_exps", shape: func(c *config) []int64 { return []int64{c.dbrxExperts(), c.hidden(), c.dbrxFFN()} },
			strides: func(c *config) ([]int64, int64) { return []int64{c.dbrxFFN() * c.hidden(), 1, c.hidden()}, 0 }}}
		return []mapping{
			{hf: "norm_attn_norm.norm_1", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "norm_attn_norm.norm_2", gguf: "attn_output_norm", shape: dims{Hidden}},
			{hf: "norm_attn_norm.attn.Wqkv", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "norm_attn_norm.attn.out_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "ffn.router.layer", gguf: "ffn_gate_inp", shape: dims{func(c *config) int64 { return c.dbrxExperts() }, Hidden}, typeRule: asMatrices},
			{hf: "ffn.experts.mlp.w1", shape: dims{rows, Hidden}, noSuffix: true, views: plain("ffn_gate_exps")},
			{hf: "ffn.experts.mlp.v1", shape: dims{rows, Hidden}, noSuffix: true, views: plain("ffn_up_exps")},
			{hf: "ffn.experts.mlp.w2", shape: dims{rows, Hidden}, noSuffix: true, views: turned},
		}
	}),
	keys: func(k *keys) {
		k.putArch("block_count", uint32(k.c.layers()))
		k.u32("context_length", "max_seq_len")
		k.u32("embedding_length", "d_model")
		k.putArch("feed_forward_length", uint32(k.c.dbrxFFN()))
		k.putArch("attention.head_count", uint32(k.c.heads()))
		k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
		attn := k.c.get("attn_config")
		k.number("rope.freq_base", "rope_theta", attn.Get("rope_theta"))
		k.number("attention.clamp_kqv", "clip_qkv", attn.Get("clip_qkv"))
		k.putArch("expert_count", uint32(k.c.dbrxExperts()))
		top, _ := k.c.get("ffn_config").Get("moe_top_k").Int()
		k.putArch("expert_used_count", uint32(min(max(top, 0), 1<<16)))
		k.putArch("attention.layer_norm_epsilon", float32(1e-5))
	}, vocab: gpt2Vocab,

	attention: attention{kvHeads: func(c *config) int64 { return sizeIn(c.get("attn_config"), "kv_n_heads") }}, mlx: mlxRow{none: notCompared},
}

// sizeIn returns a member that is a size, 0 for anything else.
func sizeIn(v jsontree.Value, name string) int64 {
	n, ok := v.Get(name).Int()
	if !ok || n < 0 || n > 1<<24 {
		return 0
	}
	return n
}

func (c *config) dbrxExperts() int64 {
	if n := sizeIn(c.get("ffn_config"), "moe_num_experts"); n <= 1<<12 {
		return n
	}
	return 0
}

func (c *config) dbrxFFN() int64 { return sizeIn(c.get("ffn_config"), "ffn_hidden_size") }
