package family

import "math"

// plamoLayer is the prefix of a layer's tensors in PLaMo.
const plamoLayer = "model.layers.layers.#."

// plamoRow: PLaMo 13B. Its heads share the keys of every fifth one, in another order than llama.cpp's.
var plamoRow = &row{
	arch: "plamo", model: "plamo", names: []string{"PlamoForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-06"}, {"rope_theta", "10000"}},
	outer:    outer, layer: plamoLayer,
	layers: lazy(func() []mapping {
		return with([]mapping{
			{hf: "norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", shape: dims{Q, Hidden}, views: []view{rowsOf("attn_q", plamoRows)}},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "self_attn.o_proj", shape: dims{Hidden, Q}, views: []view{{
				gguf:  "attn_output",
				shape: func(c *config) []int64 { return []int64{c.hidden(), Q(c)} },
				strides: func(c *config) ([]int64, int64) {
					return []int64{Q(c), c.headDim(), plamoGroups * c.headDim(), 1}, 0
				},
				sourceShape: func(c *config) []int64 {
					return []int64{c.hidden(), plamoGroups, c.heads() / plamoGroups, c.headDim()}
				},
			}}},
		}, mlp...)
	}),
	keys: plamoKeys, vocab: spmVocab,

	attention: attention{kvHeads: func(*config) int64 { return plamoGroups }}, mlx: mlxRow{none: notCompared},
}

// plamoGroups is the number of key heads, whatever the configuration says.
const plamoGroups = 5

// plamoRows are the query heads, those of each key head together.
func plamoRows(c *config) (list []cut) {
	for g := range int64(plamoGroups) {
		for i := range c.heads() / plamoGroups {
			list = append(list, cut{first: (i*plamoGroups + g) * c.headDim(), rows: c.headDim()})
		}
	}
	return list
}

func plamoKeys(k *keys) {
	if k.c.hidden() != 5120 || k.c.heads() != 40 {
		k.fail("hidden_size", k.c.get("hidden_size"), "5120, with 40 heads, as in the one model that llama.cpp has")
		return
	}
	k.putArch("context_length", uint32(4096)) // as in the converter
	k.u32("embedding_length", "hidden_size")
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("block_count", uint32(k.c.layers()))
	k.putArch("attention.head_count", uint32(k.c.heads()))
	k.putArch("attention.head_count_kv", uint32(plamoGroups))
	k.f32("attention.layer_norm_rms_epsilon", "rms_norm_eps")
	k.requireMember("n_shared_head", "8")
}

// Norms of PLaMo 3, stored as the distances from these numbers.
var (
	fifth      = float32(1.0 / 5)
	afterwards = float32(1 / math.Pow(5, 1.5))
)

var plamo3Layers = []mapping{
	{hf: "pre_mixer_norm", gguf: "attn_norm", shape: dims{Hidden}, op: addOne},
	{hf: "post_mixer_norm", gguf: "post_attention_norm", shape: dims{Hidden}, op: addOne, plus: fifth, ggufNoSuffix: true},
	{hf: "pre_mlp_norm", gguf: "ffn_norm", shape: dims{Hidden}, op: addOne},
	{hf: "post_mlp_norm", gguf: "post_ffw_norm", shape: dims{Hidden}, op: addOne, plus: afterwards, ggufNoSuffix: true},
	{hf: "mlp.gate_up_proj", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
	{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
}

// plamo3Row: PLaMo 3, with attention windows.
var plamo3Row = &row{
	arch: "plamo3", model: "plamo3", names: []string{"Plamo3ForCausalLM", "PLaMo3ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_scaling_factor", "1"}},
	outer:    nextOuter, layer: plamoLayer,
	layers: lazy(func() []mapping {
		return with(plamo3Layers, []mapping{
			{hf: "mixer.qkv_proj", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "mixer.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "mixer.q_norm", gguf: "attn_q_norm", shape: dims{Head}, op: addOne},
			{hf: "mixer.k_norm", gguf: "attn_k_norm", shape: dims{Head}, op: addOne},
		}...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		k.requireMember("rope_scaling_factor", "1")
		if k.c.get("window_size", "sliding_window").There {
			k.u32("attention.sliding_window", "window_size", "sliding_window")
			k.u32("attention.sliding_window_pattern", "sliding_window_pattern")
			if k.c.int("sliding_window_pattern") < 1 {
				k.fail("sliding_window_pattern", k.c.get("sliding_window_pattern"), "a number of layers, the last of which sees all")
			}
		}
	}, vocab: plamoVocab,

	mlx: mlxRow{none: notCompared},
}
