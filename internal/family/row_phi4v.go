package family

// phi4vRow: the text model of Phi-4 Vision, which is Phi 3.
var phi4vRow = &row{
	arch: "phi3", model: "phi4-siglip", names: []string{"Phi4ForCausalLMV"},
	defaults: phi3Row.defaults, outer: outer, layer: decoderLayer, layers: phi3Row.layers,
	keys: phi3Keys, vocab: phi3Vocab,

	naming: naming{otherParts: []string{"model.vision_tower.", "vision_tower.", "model.mm_projector.", "mm_projector."}}, attention: attention{factors: longFactors((*config).rotated)}, mlx: mlxRow{none: notCompared},
}
