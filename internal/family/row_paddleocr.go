package family

// paddleocrRow: the text model of PaddleOCR-VL, which is ERNIE 4.5.
var paddleocrRow = &row{
	arch: "paddleocr", model: "paddleocr_vl", names: []string{"PaddleOCRVLForConditionalGeneration"},
	defaults: ernieRow.defaults, outer: outer, layer: decoderLayer, layers: ernieRow.layers,
	keys: func(k *keys) {
		ernieRow.keys(k)
		k.sections()
	}, vocab: ernieRow.vocab,

	naming: naming{otherParts: []string{"mlp_AR.", "model.mlp_AR.", "model.projector.", "projector."}}, mlx: mlxRow{none: notCompared},
}
