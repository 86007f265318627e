package family

// kimivlRow: the text models of Kimi-VL and Kimi K2.5, which are DeepSeek V3, where text_config does
// not state that class itself.
var kimivlRow = &row{
	arch: "deepseek2", model: "kimi_vl", names: []string{"KimiVLForConditionalGeneration", "KimiK25ForConditionalGeneration"},
	defaults: deepseek3Row.defaults, outer: outer, layer: decoderLayer, layers: deepseek3Row.layers,
	keys: deepseekKeys, vocab: deepseekVocab,

	ahead: ahead{dropped: true}, mlx: mlxRow{none: notCompared},
}
