package family

import (
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// lowRank and fullRank report whether queries are computed in two steps.
func lowRank(c *config, _ int64) bool { return c.int("q_lora_rank") > 0 }

func fullRank(c *config, _ int64) bool { return c.int("q_lora_rank") == 0 }

// latent is the matrix from DeepSeek's latent vector to keys and values. llama.cpp has it
// in two, that of keys transposed within each head.
var latent = mapping{
	hf: "self_attn.kv_b_proj", shape: dims{LatentKV, KVRank},
	views: []view{
		{
			gguf:  "attn_k_b",
			shape: func(c *config) []int64 { return []int64{c.heads(), c.int("kv_lora_rank"), c.nope()} },
			strides: func(c *config) ([]int64, int64) {
				rank := c.int("kv_lora_rank")
				return []int64{(c.nope() + c.int("v_head_dim")) * rank, 1, rank}, 0
			},
		},
		{
			gguf:  "attn_v_b",
			shape: func(c *config) []int64 { return []int64{c.heads(), c.int("v_head_dim"), c.int("kv_lora_rank")} },
			strides: func(c *config) ([]int64, int64) {
				rank := c.int("kv_lora_rank")
				return []int64{(c.nope() + c.int("v_head_dim")) * rank, rank, 1}, c.nope() * rank
			},
		},
	},
	join: func(c *config, of []tensor.Info, _ []int64) (list []Part) {
		rank, nope := c.int("kv_lora_rank"), c.nope()
		for h := range c.heads() {
			keys, values := headOf(of[0], h), headOf(of[1], h)
			keys.Shape, keys.Strides = []int64{nope, rank}, []int64{1, nope}
			list = append(list, Part{Info: keys}, Part{Info: values})
		}
		return list
	},
}

// headOf returns one head of a tensor whose first dimension is heads.
func headOf(i tensor.Info, head int64) tensor.Info {
	i.Span.Len /= i.Shape[0]
	i.Span.Off += head * i.Span.Len
	i.Shape = i.Shape[1:]
	return i
}

func mla(more ...mapping) []mapping {
	return with([]mapping{
		{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{LatentQ, Hidden}, inLayer: fullRank},
		{hf: "self_attn.q_a_proj", gguf: "attn_q_a", shape: dims{QRank, Hidden}, inLayer: lowRank},
		{hf: "self_attn.q_a_layernorm", gguf: "attn_q_a_norm", shape: dims{QRank}, inLayer: lowRank},
		{hf: "self_attn.q_b_proj", gguf: "attn_q_b", shape: dims{LatentQ, QRank}, inLayer: lowRank},
		{hf: "self_attn.kv_a_proj_with_mqa", gguf: "attn_kv_a_mqa", shape: dims{KVRankRope, Hidden}},
		{hf: "self_attn.kv_a_layernorm", gguf: "attn_kv_a_norm", shape: dims{KVRank}},
		latent,
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, LatentV}},
		ffnNorm,
	}, more...)
}
