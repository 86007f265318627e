package family

var llamaRow = row{
	arch: "llama", model: "llama", names: []string{"LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "2048"}, {"rope_theta", "10000"}},
	outer:    outer, layer: decoderLayer,
	layers: permuted(decoder(append([]name{ffnNorm}, mlp...)...)),
	keys:   llamaKeys, vocab: llamaVocab,
}

var smollm3Row = row{
	arch: "smollm3", model: "smollm3", names: []string{"SmolLM3ForCausalLM"}, tied: true,
	defaults: []preset{{"vocab_size", "128256"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "32768"}, {"rope_theta", "2000000"}},
	outer:    outer, layer: decoderLayer,
	layers: permuted(decoder(append([]name{ffnNorm}, mlp...)...)),
	keys:   smollm3Keys, vocab: llamaVocab,
}

// llamaKeys are those of LlamaModel in llama.py: its configuration knows the size
// of heads and of groups of them even where it does not state them.
func llamaKeys(k *keys) {
	smollm3Keys(k)
	k.own("attention.key_length", uint32(k.c.headDim()))
	k.own("attention.value_length", uint32(k.c.headDim()))
}

// smollm3Keys leave the size of heads to be told by the width.
func smollm3Keys(k *keys) {
	common(k)
	k.own("attention.head_count_kv", uint32(k.c.kvHeads()))
	k.u32("vocab_size", "vocab_size")
	k.own("rope.dimension_count", uint32(k.c.headDim()))
}
