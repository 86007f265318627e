package family

// qwen2audioRow: the text models of Qwen2-Audio and Audio Flamingo 3, beside an encoder of audio.
var qwen2audioRow = &row{
	arch: "qwen2", model: "qwen2_audio", names: []string{"Qwen2AudioForConditionalGeneration", "AudioFlamingo3ForConditionalGeneration"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	keys: qwenKeys, vocab: spmOrBytes,

	mlx: mlxRow{none: notCompared},
}
