package family

import (
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
)

// Models that consist of state spaces: Mamba, Falcon-Mamba, and Mamba 2, in which a head has
// a single number for its decay.

// wideness returns the width of the state space. The class's default is twice the model's
// width.
func wideness(c *config) int64 {
	if n := c.int("intermediate_size", "d_inner"); n > 0 {
		return n
	}
	n := c.int("expand")
	if n > 1<<10 {
		return 0 // no tensor has this shape
	}
	return n * c.hidden()
}

func stateSize(c *config) int64 { return c.int("state_size", "d_state") }

// stepRank returns the rank of dt_proj. "auto" means a sixteenth of the width.
func stepRank(c *config) int64 {
	if n := c.int("time_step_rank", "dt_rank", "mamba_dt_rank"); n > 0 {
		return n
	}
	return (c.hidden() + 15) / 16
}

func kernel(c *config) int64 { return c.int("conv_kernel", "d_conv") }

func stepsAndStates(c *config) int64 { return stepRank(c) + 2*stateSize(c) }

var mambaOuter = []mapping{
	{hf: "backbone.embeddings", gguf: "token_embd", shape: dims{Vocab, Hidden}},
	{hf: "backbone.norm_f", gguf: "output_norm", shape: dims{Hidden}},
	{hf: "lm_head", gguf: "output", shape: dims{Vocab, Hidden}},
}

func mambaLayers() []mapping {
	return []mapping{
		{hf: "norm", gguf: "attn_norm", shape: dims{Hidden}},
		{hf: "mixer.in_proj", gguf: "ssm_in", shape: dims{double(wideness), Hidden}},
		{hf: "mixer.conv1d", shape: dims{wideness, One, kernel}, views: squeezedView("ssm_conv1d", wideness, kernel)},
		{hf: "mixer.x_proj", gguf: "ssm_x", shape: dims{stepsAndStates, wideness}},
		{hf: "mixer.dt_proj", gguf: "ssm_dt", shape: dims{wideness, stepRank}},
		{hf: "mixer.A_log", gguf: "ssm_a", shape: dims{wideness, stateSize}, noSuffix: true, ggufNoSuffix: true, op: decay},
		{hf: "mixer.D", gguf: "ssm_d", shape: dims{wideness}, noSuffix: true, ggufNoSuffix: true},
		{hf: "mixer.out_proj", gguf: "ssm_out", shape: dims{Hidden, wideness}},
	}
}

// mambaDefaults include an attention head, which these models do not have, for the checks
// that all models share.
var mambaDefaults = []preset{
	{"vocab_size", "50280"}, {"state_size", "16"}, {"conv_kernel", "4"}, {"layer_norm_epsilon", "1e-05"}, {"expand", "2"}, {"num_attention_heads", "1"}, {"use_conv_bias", "true"},
}

var mambaRow = &row{
	arch: "mamba", model: "mamba", names: []string{"MambaForCausalLM"}, tied: true,
	defaults: mambaDefaults, outer: mambaOuter, layer: "backbone.layers.#.", layers: lazy(mambaLayers), keys: mambaKeys, vocab: mambaVocab,
	biased: []string{"ssm_conv1d", "ssm_dt"},

	mlx: mlxRow{none: apartMamba}, back: backward{lost: keysUnread},
}

var falconMambaRow = &row{
	arch: "mamba", model: "falcon_mamba", names: []string{"FalconMambaForCausalLM"}, tied: true,
	defaults: mambaDefaults, outer: mambaOuter, layer: "backbone.layers.#.", layers: lazy(mambaLayers), keys: mambaKeys, vocab: mambaVocab,
	biased: []string{"ssm_conv1d", "ssm_dt"},

	mlx: mlxRow{none: apartMamba}, back: backward{lost: keysUnread},
}

// mambaAuthorsRow: the models of Mamba's authors, as their own library saves them.
var mambaAuthorsRow = &row{
	arch: "mamba", model: "mamba_ssm", names: []string{"MambaLMHeadModel"}, tied: true,
	defaults: mambaDefaults, outer: mambaOuter, layer: "backbone.layers.#.", layers: lazy(mambaLayers), keys: mambaKeys, vocab: mambaVocab,
	biased: []string{"ssm_conv1d", "ssm_dt"},

	naming: naming{renames: [][2]string{{"backbone.embedding.", "backbone.embeddings."}}}, mlx: mlxRow{none: notCompared},
}

func mambaKeys(k *keys) {
	k.spaces(wideness(k.c), stepRank(k.c))
	k.putArch("ssm.dt_b_c_rms", k.c.row.model == "falcon_mamba")
	k.requireMember("expand", "2")
	if v := k.c.get("intermediate_size", "d_inner"); v.There && k.c.int("intermediate_size", "d_inner") != 2*k.c.hidden() {
		k.fail("intermediate_size", v, "2 * hidden_size, as llama.cpp assumes for Mamba")
	}
	k.checkStepRank()
}

// checkStepRank refuses a rank that is neither a number nor "auto".
func (k *keys) checkStepRank() {
	v := k.c.get("time_step_rank", "dt_rank", "mamba_dt_rank")
	if n, ok := v.Int(); v.There && (!ok || n < 1) && v.String() != "auto" {
		k.fail("time_step_rank", v, "a number or auto")
	}
}

// spaces adds the keys of models that are only state spaces.
func (k *keys) spaces(wide, rank int64) {
	k.putArch("context_length", uint32(1<<20)) // as in the converter
	k.putArch("embedding_length", uint32(k.c.hidden()))
	k.putArch("feed_forward_length", uint32(0))
	k.putArch("attention.head_count", uint32(0))
	k.putArch("block_count", uint32(k.c.layers()))
	k.u32("ssm.conv_kernel", "conv_kernel", "d_conv")
	k.putArch("ssm.inner_size", uint32(wide))
	k.u32("ssm.state_size", "state_size", "d_state")
	k.putArch("ssm.time_step_rank", uint32(rank))
	k.f32("attention.layer_norm_rms_epsilon", "layer_norm_epsilon", "rms_norm_eps")
	k.requireMember("use_bias", "false")
	k.requireMember("use_conv_bias", "true")
	k.requireMember("hidden_act", "silu")
}

// mambaVocab adds a BPE of bytes, or sentencepiece's. The converter rounds the number of
// tokens up without adding rows to the token embedding, so it must be a multiple already.
func mambaVocab(k *keys) error {
	n := int64(8)
	if v := k.c.get("pad_vocab_size_multiple"); v.There {
		if n = k.c.int("pad_vocab_size_multiple"); n < 1 {
			k.fail("pad_vocab_size_multiple", v, "a number of tokens")
			return k.err
		}
	}
	k.multipleOf(n)
	if k.has(tokenizer.FileName) {
		return gpt2Vocab(k)
	}
	return spmVocab(k)
}

// ssmHeads returns the number of Mamba 2's heads.
func ssmHeads(c *config) int64 { return c.heads() }

// mixedStates returns the width of the convolution: the states and the two projections of
// each group.
func mixedStates(c *config) int64 { return wideness(c) + 2*groupsOf(c)*stateSize(c) }

func groupsOf(c *config) int64 { return c.int("n_groups") }

func gatesToSteps(c *config) int64 { return wideness(c) + mixedStates(c) + ssmHeads(c) }

var mamba2Row = &row{
	arch: "mamba2", model: "mamba2", names: []string{"Mamba2ForCausalLM"},
	defaults: []preset{{"vocab_size", "32768"}, {"num_heads", "128"}, {"head_dim", "64"}, {"state_size", "128"}, {"conv_kernel", "4"}, {"n_groups", "8"}, {"layer_norm_epsilon", "1e-05"}, {"expand", "2"}},
	outer:    mambaOuter, layer: "backbone.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "norm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "mixer.in_proj", gguf: "ssm_in", shape: dims{gatesToSteps, Hidden}},
			{hf: "mixer.conv1d", shape: dims{mixedStates, One, kernel}, views: squeezedView("ssm_conv1d", mixedStates, kernel)},
			{hf: "mixer.dt_bias", gguf: "ssm_dt.bias", shape: dims{ssmHeads}, noSuffix: true},
			{hf: "mixer.A_log", shape: dims{ssmHeads}, noSuffix: true, op: decay, views: columnView("ssm_a", ssmHeads)},
			{hf: "mixer.D", shape: dims{ssmHeads}, noSuffix: true, views: columnView("ssm_d", ssmHeads)},
			{hf: "mixer.norm", shape: dims{wideness}, views: []view{{
				gguf:    "ssm_norm",
				shape:   func(c *config) []int64 { return []int64{groupsOf(c), wideness(c) / max(1, groupsOf(c))} },
				strides: func(c *config) ([]int64, int64) { return []int64{wideness(c) / max(1, groupsOf(c)), 1}, 0 },
			}}},
			{hf: "mixer.out_proj", gguf: "ssm_out", shape: dims{Hidden, wideness}},
		}
	}),
	biased: []string{"ssm_conv1d"},
	keys:   mamba2Keys, vocab: mamba2Vocab,

	naming: naming{trimPrefixes: []string{"model."}}, mlx: mlxRow{none: apartMamba}, back: backward{lost: keysUnread},
}

func mamba2Keys(k *keys) {
	wide, head := wideness(k.c), k.c.headDim()
	if wide != k.c.heads()*head || groupsOf(k.c) < 1 || wide%groupsOf(k.c) != 0 {
		k.fail("num_heads", k.c.get("num_heads"), "expand * hidden_size / head_dim, a multiple of n_groups")
		return
	}
	k.spaces(wide, wide/head)
	k.putArch("ssm.group_count", uint32(groupsOf(k.c)))
}

func mamba2Vocab(k *keys) error {
	k.multipleOf(16)
	return spmOrBytes(k)
}
