package family

// janusRow: the text model of Janus Pro, beside an encoder and a decoder of images.
var janusRow = &row{
	arch: "llama", model: "janus", names: []string{"JanusForConditionalGeneration"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{otherParts: []string{"model.aligner.", "model.vqmodel.", "model.generation_embeddings.", "model.generation_aligner.", "model.generation_head."}},
	mlx:    mlxRow{none: notCompared},
}
