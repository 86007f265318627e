package family

// solarRow: Solar Open, which is GLM-4.5 with another vocabulary.
var solarRow = &row{
	arch: "glm4moe", model: "solar_open", names: []string{"SolarOpenForCausalLM"},
	defaults: glm4moeRow.defaults, outer: outer, layer: decoderLayer, layers: glm4moeRow.layers,
	keys: glm4moeKeys, vocab: func(k *keys) error {
		return k.glmTokens(specialToken{"eos", "<|endoftext|>"}, specialToken{"eot", "<|endoftext|>"}, specialToken{"unk", "<unk>"}, specialToken{"bos", "<|startoftext|>"})
	},

	ahead: aheadCounted, mlx: mlxRow{none: notCompared},
}
