package family

// smolvlmRow: the text model of SmolVLM and Idefics 3, by the class that its text_config states.
var smolvlmRow = &row{
	arch: "llama", model: "llama", names: []string{"VLlama3ForCausalLM"},
	defaults: append(llamaRow.defaults[:len(llamaRow.defaults):len(llamaRow.defaults)], preset{"num_attention_heads", "32"}),
	outer:    outer, layer: decoderLayer, layers: llamaRow.layers,
	keys: llamaKeys, vocab: llamaVocab,

	naming: naming{inner: []string{"text_model."}}, mlx: mlxRow{none: notCompared},
}
