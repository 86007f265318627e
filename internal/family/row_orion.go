package family

// orionRow: Orion, Llama with LayerNorm; its queries and keys are not permuted.
var orionRow = &row{
	arch: "orion", model: "orion", names: []string{"OrionForCausalLM"},
	defaults: []preset{{"rms_norm_eps", "1e-05"}, {"rope_theta", "10000"}}, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	biased: []string{"attn_norm", "ffn_norm", "output_norm"},
	keys: func(k *keys) {
		k.putArch("tensor_data_layout", "Meta AI original pth")
		k.u32("context_length", "max_sequence_length", "max_position_embeddings", "model_max_length")
		k.u32("embedding_length", "hidden_size")
		k.putArch("block_count", uint32(k.c.layers()))
		k.u32("feed_forward_length", "intermediate_size")
		k.putArch("attention.head_count", uint32(k.c.heads()))
		k.putArch("attention.head_count_kv", uint32(k.c.kvHeads()))
		k.f32("attention.layer_norm_epsilon", "rms_norm_eps")
		k.requireMember("hidden_act", "silu")
		if f, ok := k.c.rope().theta.Float(); ok && f != 10000 {
			k.fail("rope_theta", k.c.rope().theta, "10000, as llama.cpp assumes for Orion")
		}
	}, vocab: spmVocab,

	mlx: mlxRow{none: notCompared},
}
