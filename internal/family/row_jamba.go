package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Jamba has an attention layer in each period of layers, the others are Mamba's. Experts
// have a period of their own.

var (
	jambaAttends = every("attn_layer_period", "attn_layer_offset")
	jambaMixes   = every("expert_layer_period", "expert_layer_offset")
)

func jambaWide(c *config) int64 {
	if n := c.int("mamba_expand"); n <= 1<<10 {
		return n * c.hidden()
	}
	return 0 // no tensor has this shape
}

func jambaStates(c *config) int64 { return c.int("mamba_d_state") }

func jambaKernel(c *config) int64 { return c.int("mamba_d_conv") }

func jambaX(c *config) int64 { return stepRank(c) + 2*jambaStates(c) }

var jambaRow = &row{
	arch: "jamba", model: "jamba", names: []string{"JambaForCausalLM"},
	defaults: []preset{
		{"vocab_size", "65536"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "262144"}, {"num_experts", "16"}, {"num_experts_per_tok", "2"}, {"expert_layer_period", "2"}, {"expert_layer_offset", "1"},
		{"attn_layer_period", "8"}, {"attn_layer_offset", "4"}, {"mamba_d_state", "16"}, {"mamba_d_conv", "4"}, {"mamba_expand", "2"},
	},
	outer: phi2Row.outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat([]mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "pre_ff_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
		}, onlyIn(jambaAttends, decoder()[1:]), onlyIn(not(jambaAttends), []mapping{
			{hf: "mamba.in_proj", gguf: "ssm_in", shape: dims{double(jambaWide), Hidden}},
			{hf: "mamba.conv1d", shape: dims{jambaWide, One, jambaKernel}, views: squeezedView("ssm_conv1d", jambaWide, jambaKernel)},
			{hf: "mamba.x_proj", gguf: "ssm_x", shape: dims{jambaX, jambaWide}},
			{hf: "mamba.dt_proj", gguf: "ssm_dt", shape: dims{jambaWide, stepRank}},
			{hf: "mamba.A_log", gguf: "ssm_a", shape: dims{jambaWide, jambaStates}, noSuffix: true, ggufNoSuffix: true, op: decay},
			{hf: "mamba.D", gguf: "ssm_d", shape: dims{jambaWide}, noSuffix: true, ggufNoSuffix: true},
			{hf: "mamba.out_proj", gguf: "ssm_out", shape: dims{Hidden, jambaWide}},
			{hf: "mamba.dt_layernorm", gguf: "ssm_dt_norm", shape: dims{stepRank}},
			{hf: "mamba.b_layernorm", gguf: "ssm_b_norm", shape: dims{jambaStates}},
			{hf: "mamba.c_layernorm", gguf: "ssm_c_norm", shape: dims{jambaStates}},
		}), onlyIn(not(jambaMixes), feedOf("feed_forward.")), onlyIn(jambaMixes, []mapping{
			{hf: "feed_forward.router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			{hf: "feed_forward.experts.*.gate_proj", gguf: "ffn_gate_exps", shape: dims{FFN, Hidden}, op: stack},
			{hf: "feed_forward.experts.*.up_proj", gguf: "ffn_up_exps", shape: dims{FFN, Hidden}, op: stack},
			{hf: "feed_forward.experts.*.down_proj", gguf: "ffn_down_exps", shape: dims{Hidden, FFN}, op: stack},
		}))
	}),
	biased: []string{"ssm_conv1d", "ssm_dt"},
	keys:   jambaKeys, vocab: jambaVocab,

	mlx: mlxRow{none: apartMamba}, back: backward{lost: keysUnread},
}

// feedOf returns the matrices of a feed-forward layer with the given prefix.
func feedOf(prefix string) []mapping {
	return []mapping{
		{hf: prefix + "gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
		{hf: prefix + "up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
		{hf: prefix + "down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
	}
}

func jambaKeys(k *keys) {
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("context_length", "max_position_embeddings", "n_ctx")
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.u32("feed_forward_length", "intermediate_size")
	k.putArch("attention.head_count", uint32(k.c.heads()))
	heads, err := limits.Make[int32](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	for i := range heads {
		if jambaAttends(k.c, int64(i)) {
			heads[i] = int32(k.c.kvHeads())
		}
	}
	k.putArch("attention.head_count_kv", heads)
	k.u32("ssm.conv_kernel", "mamba_d_conv")
	k.putArch("ssm.inner_size", uint32(jambaWide(k.c)))
	k.u32("ssm.state_size", "mamba_d_state")
	k.putArch("ssm.time_step_rank", uint32(stepRank(k.c)))
	k.f32("attention.layer_norm_rms_epsilon", "layer_norm_epsilon", "rms_norm_eps")
	k.u32("expert_count", "num_local_experts", "num_experts")
	k.u32("expert_used_count", "num_experts_per_tok", "num_experts_per_token")
	k.checkStepRank()
	k.requireMember("mamba_conv_bias", "true")
	k.requireMember("mamba_proj_bias", "false")
	k.requireMember("hidden_act", "silu")
	for _, m := range []string{"attn_layer_", "expert_layer_"} {
		if n := k.c.int(m + "period"); n < 1 || k.c.int(m+"offset") >= n {
			k.fail(m+"period", k.c.get(m+"period"), "a number of layers, more than "+m+"offset")
		}
	}
}

// jambaVocab adds sentencepiece's model, or a BPE of characters with byte fallback from
// tokenizer.json.
func jambaVocab(k *keys) error {
	if k.has(tokenizer.SPMName) {
		return spmVocab(k)
	}
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	if t.Type != "BPE" || !t.Model.Get("byte_fallback").True() || t.Rest.At("decoder.type").String() != "Sequence" {
		return wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("a vocabulary that is not a BPE of characters; no other is known for Jamba"))
	}
	err = k.characters(t)
	k.put("tokenizer.ggml.add_space_prefix", false)
	return err
}
