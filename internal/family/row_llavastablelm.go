package family

// llavaStablelmRow: the text model of MobileVLM's and LLaVA's models over StableLM.
var llavaStablelmRow = &row{
	arch: "stablelm", model: "llava_stablelm_epoch", names: []string{"LlavaStableLMEpochForCausalLM"},
	defaults: stablelmRow.defaults, outer: outer, layer: decoderLayer, layers: stablelmRow.layers, biased: stablelmRow.biased,
	keys: stablelmKeys, vocab: gpt2Vocab,

	naming: naming{otherParts: []string{"model.vision_tower.", "model.mm_projector."}}, mlx: mlxRow{none: notCompared},
}
