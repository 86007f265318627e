package family

// nanbeigeRow: Nanbeige 4.2, Llama whose layers run several times.
var nanbeigeRow = &row{
	arch: "nanbeige", model: "nanbeige", names: []string{"NanbeigeForCausalLM"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: func(k *keys) {
		smollm3Keys(k)
		k.putArch("num_loops", uint32(max(1, k.c.int("num_loops"))))
		k.putArch("skip_loop_final_norm", k.c.bool("skip_loop_final_norm", false))
	}, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared},
}
