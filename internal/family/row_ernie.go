package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

var mlxERNIE = &mlxForm{lossy: true, skips: func(_ *config, at *location) bool { return strings.HasPrefix(at.name.gguf, "exp_probs_b") }}

// ernieMixed reports whether a layer of ERNIE has experts: one at each interval, between the first
// and the last of them.
func ernieMixed(c *config, layer int64) bool {
	every := c.int("moe_layer_interval")
	last, _ := c.get("moe_layer_end_index").Int()
	if last < 0 {
		last = c.layers() - 1
	}
	return every > 0 && (layer+1)%every == 0 && layer >= c.int("moe_layer_start_index") && layer <= last
}

func ernieDense(c *config, layer int64) bool { return !ernieMixed(c, layer) }

var ernieMoeRow = &row{
	arch: "ernie4_5-moe", model: "ernie4_5_moe", names: []string{"Ernie4_5_MoeForCausalLM"}, tied: true,
	defaults: []preset{
		{"vocab_size", "103424"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"num_key_value_heads", "4"}, {"moe_intermediate_size", "1536"}, {"moe_k", "6"}, {"moe_num_experts", "64"},
		{"moe_num_shared_experts", "2"}, {"moe_layer_start_index", "1"}, {"moe_layer_end_index", "-1"}, {"moe_layer_interval", "1"}, {"rope_theta", "500000"},
	},
	outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(with(onlyIn(ernieDense, mlp), ffnNorm), onlyIn(ernieMixed, with(experts,
			mapping{hf: "mlp.moe_statics.e_score_correction_bias", gguf: "exp_probs_b.bias", shape: dims{One, Experts}, noSuffix: true},
			mapping{hf: "mlp.shared_experts.gate_proj", gguf: "ffn_gate_shexp", shape: dims{SharedExperts, Hidden}},
			mapping{hf: "mlp.shared_experts.up_proj", gguf: "ffn_up_shexp", shape: dims{SharedExperts, Hidden}},
			mapping{hf: "mlp.shared_experts.down_proj", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedExperts}},
		))...)...)
	}),
	keys: ernieMoeKeys, vocab: ernieVocab,

	naming: naming{skipPrefixes: []string{"model.mtp_"}}, mlx: mlxRow{form: mlxERNIE}, back: backward{members: ernieMoeBack},
}

func ernieMoeKeys(k *keys) {
	common(k)
	k.u32("expert_count", "moe_num_experts")
	k.u32("expert_used_count", "moe_k")
	k.u32("interleave_moe_layer_step", "moe_layer_interval")
	k.u32("leading_dense_block_count", "moe_layer_start_index")
	k.u32("expert_feed_forward_length", "moe_intermediate_size")
	k.u32("expert_shared_count", "moe_num_shared_experts")
	if k.c.int("moe_num_shared_experts") > 0 {
		k.putArch("expert_shared_feed_forward_length", uint32(k.c.int("intermediate_size")/k.c.kvHeads())) // as in the converter
	}
}

func ernieMoeBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.requireInt("moe_num_experts", "expert_count")
	s.requireInt("moe_k", "expert_used_count")
	s.requireInt("moe_layer_interval", "interleave_moe_layer_step")
	s.requireInt("moe_layer_start_index", "leading_dense_block_count")
	s.put("moe_layer_end_index", "-1")
	s.requireInt("moe_intermediate_size", "expert_feed_forward_length")
	s.requireInt("moe_num_shared_experts", "expert_shared_count")
	_, _ = s.key("expert_shared_feed_forward_length") // llama.cpp does not read it
	s.biases("use_bias", s.layers(), projections...)
	s.put("hidden_act", `"silu"`)
}

var ernieRow = &row{
	arch: "ernie4_5", model: "ernie4_5", names: []string{"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "103424"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"head_dim", "128"}, {"rope_theta", "500000"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: common, vocab: ernieVocab,

	back: backward{members: ernieBack},
}

func ernieVocab(k *keys) error {
	err := spmVocab(k)
	if err != nil {
		return err
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if add, ok := config.Get("add_prefix_space").Bool(); ok {
		k.put("tokenizer.ggml.add_space_prefix", add)
	}
	return err
}

func ernieBack(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.biases("use_bias", s.layers(), slices.Concat(projections, feed)...)
	s.put("hidden_act", `"silu"`)
}
