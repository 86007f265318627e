package family

import "github.com/anamnesis-go/anamnesis/internal/wire"

// hrmRow: HRM-Text, two stacks of layers that are run in turn, several times. llama.cpp counts each run,
// and has each layer once.
var hrmRow = &row{
	arch: "hrm_text", model: "hrm_text", names: []string{"HrmTextForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-06"}, {"head_dim", "128"}, {"H_cycles", "2"}, {"L_cycles", "3"}},
	outer: []mapping{
		{hf: "model.embed_tokens", gguf: "token_embd", shape: dims{Vocab, Hidden}},
		{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
		{hf: "model.z_L_init", gguf: "hrm.z_l_init", shape: dims{Hidden}, noSuffix: true, ggufNoSuffix: true},
	},
	layer: "model.L_module.layers.#.", decoder: &tower{layer: "model.H_module.layers.#.", first: hrmStack, count: hrmStack, continued: true},
	layers: lazy(func() []mapping {
		quarter := func(gguf string, n int64) view {
			return rowsOf(gguf, func(c *config) []cut { return []cut{{first: n * Q(c), rows: Q(c)}} })
		}
		return []mapping{
			{hf: "attn.gqkv_proj", shape: dims{func(c *config) int64 { return 4 * Q(c) }, Hidden}, views: []view{quarter("attn_gate", 0), quarter("attn_q", 1), quarter("attn_k", 2), quarter("attn_v", 3)}},
			{hf: "attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Q}},
			{hf: "mlp.gate_up_proj", shape: dims{GateUp, Hidden}, views: []view{halfRows("ffn_gate", 1), halfRows("ffn_up", 2)}},
			{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	check: func(c *config) error {
		if n := hrmStack(c); n < 1 || n > maxLayers/2 || hrmRuns(c) < 1 {
			return wire.ErrRange.Errorf("%d layers in each stack, in %d runs", n, hrmRuns(c))
		}
		return nil
	},
	keys: hrmKeys, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}

// hrmStack is the number of layers of each stack, which configurations of the authors state as that of
// all layers. hrmRuns is how often one of the stacks is run.
func hrmStack(c *config) int64 { return c.int("num_layers_per_stack", "num_hidden_layers") }

func hrmRuns(c *config) int64 {
	high, low := c.int("H_cycles"), c.int("L_cycles")
	if high > maxLayers || low > maxLayers {
		return 0
	}
	return high * (low + 1)
}

func hrmKeys(k *keys) {
	common(k)
	runs := hrmStack(k.c) * hrmRuns(k.c)
	if runs > maxLayers {
		k.fail("H_cycles", k.c.get("H_cycles"), "a number of runs with less than "+itoa(maxLayers)+" layers in all")
	}
	k.putArch("block_count", uint32(runs))
	k.putArch("rope.dimension_count", uint32(k.c.headDim()))
	k.f32("embedding_scale", "embedding_scale")
	k.putArch("hrm.layers_per_stack", uint32(hrmStack(k.c)))
	k.u32("hrm.h_cycles", "H_cycles")
	k.u32("hrm.l_cycles", "L_cycles")
	k.putArch("hrm.prefix_lm", k.c.bool("prefix_lm", false))
	for _, one := range [][2]string{{"attention_bias", "false"}, {"mlp_bias", "false"}, {"hidden_act", "silu"}} {
		k.requireMember(one[0], one[1])
	}
	k.requireMember("num_key_value_heads", itoa(k.c.heads()))
	if !k.c.get("embedding_scale").There {
		k.fail("embedding_scale", k.c.get("embedding_scale"), "a number")
	}
}
