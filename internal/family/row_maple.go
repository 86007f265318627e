package family

import (
	"cmp"

	"github.com/anamnesis-go/anamnesis/limits"
)

// mapleRow: Maple, a mixture whose experts clamp what they multiply.
var mapleRow = &row{
	arch: "maple", model: "maple", names: []string{"MapleForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}}, outer: outer, layer: decoderLayer, layers: qwen3moeRow.layers,
	keys: func(k *keys) {
		common(k)
		k.requireMember("hidden_act", "silu")
		k.requireMember("num_shared_experts", "0")
		k.requireMember("norm_topk_prob", "true")
		if !k.c.bool("nope_on_global_attention", false) {
			k.fail("nope_on_global_attention", k.c.get("nope_on_global_attention"), "true, as llama.cpp assumes")
		}
		k.u32("vocab_size", "vocab_size")
		k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.headDim(), 1)))
		windowKeys(k, 0)
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		list, err := limits.Make[float32](k.b, int(k.c.layers()))
		for i := range list {
			list[i] = 7 // which the model's code has as a number
		}
		k.err = cmp.Or(k.err, err)
		k.putArch("swiglu_clamp_exp", list)
	}, vocab: gpt2Vocab,

	mlx: mlxRow{none: notCompared},
}
