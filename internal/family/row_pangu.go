package family

// panguRow: openPangu Embedded, Llama with biases, whose queries and keys are not permuted.
var panguRow = &row{
	arch: "pangu-embedded", model: "PanguEmbedded", names: []string{"PanguEmbeddedForCausalLM"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		k.putArch("rope.dimension_count", uint32(k.c.headDim()))
		k.putArch("attention.key_length", uint32(k.c.headDim()))
		k.putArch("attention.value_length", uint32(k.c.headDim()))
	}, vocab: ernieVocab,

	mlx: mlxRow{none: notCompared},
}
