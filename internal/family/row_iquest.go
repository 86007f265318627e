package family

// iquestRow: IQuest-Coder, which is Llama.
var iquestRow = &row{
	arch: "llama", model: "iquestcoder", names: []string{"IQuestCoderForCausalLM"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: func(k *keys) {
		llamaKeys(k)
		if v := k.c.get("clip_qkv"); v.There {
			k.fail("clip_qkv", v, "null, as llama.cpp assumes")
		}
	}, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared},
}
