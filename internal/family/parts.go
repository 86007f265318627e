package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// decoder returns the tensors of a layer with Llama's names, and those that a family adds.
func decoder(more ...mapping) []mapping {
	return with([]mapping{
		{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Q, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{KV, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{KV, Hidden}},
		{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
	}, more...)
}

// with returns the concatenation of list and more.
func with(list []mapping, more ...mapping) []mapping { return slices.Concat(list, more) }

// permuted marks query and key matrices for the rotation of pairs that llama.cpp uses for
// Llama.
func permuted(list []mapping) []mapping {
	for i := range list {
		switch list[i].gguf {
		case "attn_q":
			list[i].op = permuteQ
		case "attn_k":
			list[i].op = permuteK
		}
	}
	return list
}

var (
	mlp = []mapping{
		{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
		{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
		{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
	}
	ffnNorm = mapping{hf: "post_attention_layernorm", gguf: "ffn_norm", shape: dims{Hidden}}
	outer   = []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "model.norm", gguf: "output_norm", shape: dims{Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
	}
)

const decoderLayer = "model.layers.#."

// onlyIn restricts tensors to some layers.
func onlyIn(which func(*config, int64) bool, list []mapping) []mapping {
	out := append([]mapping(nil), list...)
	for i := range out {
		out[i].inLayer = which
	}
	return out
}

// factor is a number of the configuration, which has to be there.
func factor(member string, at int) func(*config) (float64, bool) {
	return func(c *config) (float64, bool) {
		v := c.get(member)
		if at >= 0 {
			list := v.List()
			if at >= len(list) {
				return 0, false
			}
			v = list[at]
		}
		return v.Float()
	}
}

// times are factors that a tensor is multiplied by, one after the other.
func times(list ...func(*config) (float64, bool)) []func(*config) (float64, bool) { return list }

// columnView is the view of a vector as a matrix with one column.
func columnView(gguf string, n size) []view {
	return []view{{
		gguf: gguf, noSuffix: true,
		shape:   func(c *config) []int64 { return []int64{n(c), 1} },
		strides: func(*config) ([]int64, int64) { return []int64{1, 1}, 0 },
	}}
}

// storedMinusOne marks norms whose weights are stored minus one, as in Gemma.
func storedMinusOne(list []mapping) []mapping {
	for i := range list {
		if len(list[i].shape) == 1 {
			list[i].op = addOne
		}
	}
	return list
}

// sandwichNorms are norms before and after each half of a layer.
var sandwichNorms = []mapping{
	{hf: "post_attention_layernorm", gguf: "post_attention_norm", shape: dims{Hidden}},
	{hf: "pre_feedforward_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
	{hf: "post_feedforward_layernorm", gguf: "post_ffw_norm", shape: dims{Hidden}},
}

// every returns a function that reports one layer of each period.
func every(period, offset string) func(*config, int64) bool {
	return func(c *config, layer int64) bool {
		n, first := c.int(period), c.int(offset)
		return n > 0 && layer >= first && (layer-first)%n == 0
	}
}

func not(which func(*config, int64) bool) func(*config, int64) bool {
	return func(c *config, layer int64) bool { return !which(c, layer) }
}

// squeezedView is a view without a dimension of 1.
func squeezedView(gguf string, rows, cols func(*config) int64) []view {
	return []view{{
		gguf:    gguf,
		shape:   func(c *config) []int64 { return []int64{rows(c), cols(c)} },
		strides: func(c *config) ([]int64, int64) { return []int64{cols(c), 1}, 0 },
	}}
}

// onlyView makes a tensor of its single view.
func onlyView(_ *config, of []tensor.Info, _ []int64) []Part { return []Part{{Info: of[0]}} }

// double returns a size of which there are two.
func double(f size) size {
	return func(c *config) int64 { return 2 * f(c) }
}

// allHeadNorms are norms over all heads at once.
var allHeadNorms = []mapping{
	{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Q}},
	{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{KV}},
}

var headNorms = []mapping{
	{hf: "self_attn.q_norm", gguf: "attn_q_norm", shape: dims{Head}},
	{hf: "self_attn.k_norm", gguf: "attn_k_norm", shape: dims{Head}},
}

func rowsOf(gguf string, cuts func(*config) []cut) view { return view{gguf: gguf, cuts: cuts} }

// bundledQKV are the views of queries, keys and values that a matrix holds for each group
// of heads. llama.cpp has them in three, with queries and keys in pairs.
func bundledQKV() []view {
	part := func(gguf string, which int, pairs bool) view {
		return view{gguf: gguf, cuts: func(c *config) []cut {
			q, k, v := bundledRows(c)
			list := [][]cut{q, k, v}[which]
			for i := range list {
				if pairs {
					list[i].head = c.headDim()
				}
			}
			return list
		}}
	}
	return []view{part("attn_q", 0, true), part("attn_k", 1, true), part("attn_v", 2, false)}
}

// stackedQKV are the views of all queries, then all keys, then all values, in three
// matrices.
func stackedQKV() []view {
	part := func(gguf string, pairs bool, first, rows func(*config) int64) view {
		return view{gguf: gguf, cuts: func(c *config) []cut {
			one := cut{first: first(c), rows: rows(c)}
			if pairs {
				one.head = c.headDim()
			}
			return []cut{one}
		}}
	}
	q, k := Q, KV
	return []view{
		part("attn_q", true, func(*config) int64 { return 0 }, q), part("attn_k", true, q, k),
		part("attn_v", false, func(c *config) int64 { return q(c) + k(c) }, k),
	}
}
