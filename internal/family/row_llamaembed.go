package family

// llamaEmbedRow: llama-embed-nemotron, Llama without a head, whose tokens see those after them.
var llamaEmbedRow = &row{
	arch: "llama-embed", model: "llama_bidirec", names: []string{"LlamaBidirectionalModel"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{headless: []string{"LlamaBidirectionalModel"}, optionalPrefix: "model."}, mlx: mlxRow{none: notCompared},
}
