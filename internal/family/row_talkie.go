package family

// talkieRow: Talkie, a Llama without norms that have weights, whose heads rotate the other way.
var talkieRow = &row{
	arch: "talkie", model: "talkie", names: []string{"TalkieForCausalLM"},
	outer: []mapping{
		{hf: "model.embed", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
		{hf: "lm_head_gain.w_g", key: logitScale, shape: dims{One}, noSuffix: true},
	},
	layer: "model.blocks.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "attn.attn_query", shape: dims{Q, Hidden}, views: []view{turnedBack("attn_q", Q)}},
			{hf: "attn.attn_key", shape: dims{KV, Hidden}, views: []view{turnedBack("attn_k", KV)}},
			{hf: "attn.attn_value", gguf: "attn_v", shape: dims{KV, Hidden}},
			{hf: "attn.attn_resid", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "attn.head_gain.head_g", shape: dims{Heads}, noSuffix: true, views: headColumn("attn_q_norm.weight")},
			{hf: "attn_gain.a_g", gguf: "attn_output.scale", shape: dims{One}, noSuffix: true, ggufNoSuffix: true},
			{hf: "mlp.mlp_gate", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "mlp.mlp_linear", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.mlp_resid", gguf: "ffn_down", shape: dims{Hidden, FFN}},
			{hf: "mlp_gain.a_g", gguf: "ffn_down.scale", shape: dims{One}, noSuffix: true, ggufNoSuffix: true},
			{hf: "embed_skip.a_g", gguf: "layer_output_scale.weight", shape: dims{One}, noSuffix: true},
		}
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("attention.layer_norm_rms_epsilon", float32(1.1920929e-07)) // the step of a float32 at 1
		if list := k.plan.numbers[logitScale]; len(list) > 0 {
			k.putArch(logitScale, list[0])
		}
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}

const logitScale = "logit_scale"

// turnedBack is the view of heads whose second half has the other sign, so that they turn the other way.
func turnedBack(gguf string, rows size) view {
	return view{gguf: gguf, cuts: func(c *config) (list []cut) {
		half := c.headDim() / 2
		for at := int64(0); half > 0 && at < rows(c); at += 2 * half {
			list = append(list, cut{first: at, rows: half}, cut{first: at + half, rows: half, times: times(minusOne)})
		}
		return list
	}}
}

func minusOne(*config) (float64, bool) { return -1, true }

// headColumn is the view of a number for each head as a matrix with one column.
func headColumn(gguf string) []view { return columnView(gguf, Heads) }
