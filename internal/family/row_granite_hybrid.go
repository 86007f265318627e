package family

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/limits"
)

var mlxGranite4 = &mlxForm{names: map[string]string{
	"ffn_gate_exps": "block_sparse_moe.switch_mlp.gate_proj", "ffn_up_exps": "block_sparse_moe.switch_mlp.up_proj", "ffn_down_exps": "block_sparse_moe.switch_mlp.down_proj",
	"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}, shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels(SSMConv, SSMKernel)}}

// Granite 4 has state space and attention layers, with experts and without. A model with
// only attention layers is Granite 3 for llama.cpp.

// isAttentionLayer reports a layer of attention.
func isAttentionLayer(c *config, layer int64) bool {
	list := c.get("layer_types", "layers_block_type").List()
	if layer >= int64(len(list)) {
		return false
	}
	kind := list[layer].String()
	return kind == "attention" || kind == "full_attention"
}

func isMambaLayer(c *config, layer int64) bool { return !isAttentionLayer(c, layer) }

func hasExperts(c *config, _ int64) bool { return c.experts() > 0 }

func hasNoExperts(c *config, _ int64) bool { return c.experts() == 0 }

// graniteDense is the shared expert of a model without other experts.
var graniteDense = []mapping{
	{hf: "shared_mlp.input_linear", shape: dims{SharedGateUp, Hidden}, views: []view{
		{gguf: "ffn_gate", cuts: func(c *config) []cut { return []cut{{first: 0, rows: SharedGateUp(c) / 2}} }},
		{gguf: "ffn_up", cuts: func(c *config) []cut { return []cut{{first: SharedGateUp(c) / 2, rows: SharedGateUp(c) / 2}} }},
	}},
	{hf: "shared_mlp.output_linear", gguf: "ffn_down", shape: dims{Hidden, SharedDense}},
}

// graniteFeed returns the feed-forward layers of all kinds.
func graniteFeed() []mapping {
	return slices.Concat(onlyIn(hasExperts, graniteExperts), onlyIn(hasExperts, graniteShared), onlyIn(hasNoExperts, graniteDense), []mapping{ffnNorm})
}

var granite4Defaults = append(graniteMoeDefaults[:len(graniteMoeDefaults):len(graniteMoeDefaults)], preset{"shared_intermediate_size", "1024"}, preset{"mamba_n_heads", "128"},
	preset{"mamba_n_groups", "1"}, preset{"mamba_d_state", "256"}, preset{"mamba_d_conv", "4"}, preset{"mamba_expand", "2"})

// mambaOfGranite are the tensors of a state space.
var mambaOfGranite = []mapping{
	{hf: "mamba.A_log", shape: dims{SSMHeads}, noSuffix: true, op: decay, views: columnView("ssm_a", SSMHeads), join: onlyView},
	{hf: "mamba.D", shape: dims{SSMHeads}, noSuffix: true, views: columnView("ssm_d", SSMHeads), join: onlyView},
	{hf: "mamba.dt_bias", gguf: "ssm_dt.bias", shape: dims{SSMHeads}, noSuffix: true},
	{hf: "mamba.conv1d", shape: dims{SSMConv, One, SSMKernel}, views: squeezedView("ssm_conv1d", SSMConv, SSMKernel), join: onlyView},
	{hf: "mamba.in_proj", gguf: "ssm_in", shape: dims{SSMIn, Hidden}},
	{hf: "mamba.out_proj", gguf: "ssm_out", shape: dims{Hidden, States}},
	{hf: "mamba.norm", shape: dims{States}, views: []view{groupedNorm}, join: onlyView},
}

var graniteHybridRow = &row{
	arch: "granitehybrid", model: "granitemoehybrid", names: []string{"GraniteMoeHybridForCausalLM"},
	defaults: granite4Defaults,
	outer:    outer, layer: decoderLayer, choose: graniteKind,
	layers: lazy(func() []mapping {
		return slices.Concat(decoder()[:1], onlyIn(isAttentionLayer, permuted(decoder())[1:]), onlyIn(isMambaLayer, mambaOfGranite), graniteFeed())
	}),
	keys: graniteHybridKeys, vocab: graniteHybridVocab,

	mlx: mlxRow{eight: []string{"router.layer"}, form: mlxGranite4}, back: backward{members: graniteHybridBack},
}

// graniteKind returns the row of Granite 3 for a model of Granite 4 that has only
// attention layers, else nil.
func graniteKind(c *config) *row {
	for l := range min(c.hiddenLayers(), maxLayers) {
		if !isAttentionLayer(c, l) {
			return nil
		}
	}
	if c.int("num_experts_per_tok") > 0 {
		return graniteAttentiveMoeRow
	}
	return graniteAttentiveRow
}

var graniteAttentiveRow = &row{
	arch: "granite", model: "granitemoehybrid", defaults: granite4Defaults, outer: outer, layer: decoderLayer,
	names: []string{"GraniteMoeHybridForCausalLM"},
	layers: lazy(func() []mapping {
		return with(permuted(decoder()), graniteFeed()...)
	}),
	keys: graniteAttentiveKeys, vocab: spmOrBytes,

	chosen: true, mlx: mlxRow{eight: []string{"router.layer"}, form: mlxGranite4}, back: backward{members: graniteHybridBack, matches: (*settings).isHybrid},
}

var graniteAttentiveMoeRow = &row{
	arch: "granitemoe", model: "granitemoehybrid", defaults: granite4Defaults, outer: outer, layer: decoderLayer,
	names: []string{"GraniteMoeHybridForCausalLM"},
	layers: lazy(func() []mapping {
		return with(permuted(decoder()), graniteFeed()...)
	}),
	keys: graniteAttentiveKeys, vocab: spmOrBytes,

	chosen: true, mlx: mlxRow{eight: []string{"router.layer"}, form: mlxGranite4}, back: backward{members: graniteHybridBack, matches: (*settings).isHybrid},
}

// graniteAttentiveKeys are those of a model that the converter takes for one with a state
// space first.
func graniteAttentiveKeys(k *keys) {
	graniteHybridKeys(k)
	k.u32("context_length", "max_position_embeddings")
	k.putArch("rope.scaling.finetuned", true)
}

func graniteHybridKeys(k *keys) {
	graniteKeys(k)
	if k.c.int("shared_intermediate_size") > 0 {
		k.u32("expert_shared_feed_forward_length", "shared_intermediate_size")
	}
	k.u32("ssm.conv_kernel", "mamba_d_conv")
	k.u32("ssm.state_size", "mamba_d_state")
	k.u32("ssm.group_count", "mamba_n_groups")
	k.putArch("ssm.inner_size", uint32(k.c.states()))
	k.u32("ssm.time_step_rank", "mamba_n_heads")
	heads, err := limits.Make[int32](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	for i := range heads {
		if isAttentionLayer(k.c, int64(i)) {
			heads[i] = int32(k.c.kvHeads())
		}
	}
	k.putArch("attention.head_count_kv", heads)
	k.putArch("rope.scaling.finetuned", false)
	k.putArch("context_length", uint32(1<<20))
	if act := k.c.get("hidden_act"); act.There && act.String() != "silu" {
		k.fail("hidden_act", act, "silu")
	}
	if n := int64(len(k.c.get("layer_types", "layers_block_type").List())); n != k.c.layers() {
		k.fail("layer_types", k.c.get("layer_types"), "a list with the type of each layer")
	}
}

// graniteHybridVocab is the same of sentencepiece's, where there is one.
func graniteHybridVocab(k *keys) error {
	if k.has(tokenizer.SPMName) && k.c.int("vocab_size")%8 == 0 {
		return spmVocab(k)
	}
	return multipleOf8(k)
}

// graniteHybridBack puts the members of Granite 4, which has no rotary embeddings if the
// key that llama.cpp reads for it says so.
func graniteHybridBack(s *settings) {
	attends := s.attentionLayers()
	hidden, _, head := s.common()
	s.graniteFactors()
	value, stated := s.key("rope.scaling.finetuned")
	turns, isTruth := value.(bool)
	if stated && !isTruth {
		s.fail(s.row.arch+".rope.scaling.finetuned", "its value is not a boolean")
	}
	s.rotations(head)
	s.put("position_embedding_type", map[bool]string{true: `"rope"`, false: `"nope"`}[turns || !stated])
	s.stateSpace(hidden)
	s.putPerLayer("layer_types", func(l int64) string {
		if isSet(attends, l) {
			return "attention"
		}
		return "mamba"
	})
	experts, _ := s.int("expert_count")
	s.putInt("num_local_experts", experts)
	used, _ := s.int("expert_used_count")
	s.putInt("num_experts_per_tok", used)
	shared, _ := s.int("expert_shared_feed_forward_length")
	s.putInt("shared_intermediate_size", shared)
	s.biased("attention_bias", projections...)
	s.put("hidden_act", `"silu"`)
}
