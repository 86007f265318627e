package family

// sarashinaRow: the text model of Sarashina 2 Vision.
var sarashinaRow = &row{
	arch: "llama", model: "sarashina2_vision", names: []string{"Sarashina2VisionForCausalLM"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{inner: []string{"llm."}, otherParts: []string{"norm."}}, mlx: mlxRow{none: notCompared},
}
