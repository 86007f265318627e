package family

import (
	"math"
)

// minicpmRow: MiniCPM 1, 2 and 4 are Llama with three factors.
var minicpmRow = &row{
	arch: "minicpm", model: "minicpm", names: []string{"MiniCPMForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}, {"scale_emb", "1"}, {"dim_model_base", "1"}, {"scale_depth", "1"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return permuted(decoder(with(mlp, ffnNorm)...))
	}),
	keys: minicpmKeys, vocab: spmVocab,

	attention: attention{factors: longFactors((*config).rotated)}, mlx: mlxRow{none: notCompared}, back: backward{lost: "the numbers that scale_depth and dim_model_base are made of"},
}

func minicpmKeys(k *keys) {
	common(k)
	emb, ok1 := k.c.get("scale_emb").Float()
	depth, ok2 := k.c.get("scale_depth").Float()
	base, ok3 := k.c.get("dim_model_base").Float()
	if !ok1 || !ok2 || !ok3 || !(base > 0) {
		k.fail("dim_model_base", k.c.get("dim_model_base"), "a number beside scale_emb and scale_depth, each of them one")
		return
	}
	k.putArch("embedding_scale", float32(emb))
	k.putArch("residual_scale", float32(depth/math.Sqrt(float64(k.c.hiddenLayers()))))
	k.putArch("logit_scale", float32(float64(k.c.hidden())/base))
	k.requireMember("num_experts", "0")
	k.requireMember("hidden_act", "silu")
}
