package family

import (
	"slices"
	"strings"
)

// hyv3Row: Hunyuan V3, a mixture.
var hyv3Row = &row{
	arch: "hy_v3", model: "hy_v3", names: []string{"HYV3ForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "131072"}, {"num_shared_experts", "1"}, {"router_scaling_factor", "1.0"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		list := experted("mlp.expert_bias", sharedCount)
		for i := range list {
			if list[i].gguf == "ffn_gate_inp" {
				list[i].hf = "mlp.router.gate"
			}
			if list[i].gguf == "exp_probs_b.bias" {
				list[i].gguf, list[i].ggufNoSuffix = "exp_probs_b", true
			}
			list[i].hf = strings.Replace(list[i].hf, "shared_experts", "shared_mlp", 1)
		}
		return decoder(slices.Concat(headNorms, []mapping{ffnNorm}, list, glmMTP)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("expert_feed_forward_length", "moe_intermediate_size")
		k.putArch("expert_shared_feed_forward_length", uint32(sharedCount(k.c)))
		k.putArch("expert_weights_norm", k.c.bool("route_norm", true))
		k.f32("expert_weights_scale", "router_scaling_factor")
		k.putArch("expert_gating_func", uint32(2))
		k.aheadKey()
	}, vocab: gpt2Vocab,

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}
