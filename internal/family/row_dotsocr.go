package family

// dotsocrRow: the text model of dots.ocr, whose configuration is that of the whole model.
var dotsocrRow = &row{
	arch: "qwen2", model: "dots_ocr", names: []string{"DotsOCRForCausalLM"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	keys: qwenKeys, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared},
}
