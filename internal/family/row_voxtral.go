package family

// voxtralRow: the text model of Voxtral, beside an encoder of audio.
var voxtralRow = &row{
	arch: "llama", model: "voxtral", names: []string{"VoxtralForConditionalGeneration"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared},
}
