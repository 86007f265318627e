package family

// cogvlmRow: the text model of CogVLM, whose layers have other matrices for what they see.
var cogvlmRow = &row{
	arch: "cogvlm", model: "cogvlm", names: []string{"CogVLMForCausalLM"},
	defaults: llamaRow.defaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "input_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			ffnNorm,
			{hf: "self_attn.language_expert_query_key_value", gguf: "attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "self_attn.language_expert_dense", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			{hf: "mlp.language_mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
			{hf: "mlp.language_mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.language_mlp.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
			{hf: "self_attn.vision_expert_query_key_value", gguf: "vis_attn_qkv", shape: dims{QKV, Hidden}},
			{hf: "self_attn.vision_expert_dense", gguf: "vis_attn_output", shape: dims{Hidden, Hidden}},
			{hf: "mlp.vision_mlp.gate_proj", gguf: "vis_gate", shape: dims{FFN, Hidden}},
			{hf: "mlp.vision_mlp.up_proj", gguf: "vis_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.vision_mlp.down_proj", gguf: "vis_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: func(k *keys) {
		smollm3Keys(k)
		if k.c.kvHeads() != k.c.heads() {
			k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of attention heads, as llama.cpp assumes")
		}
	}, vocab: llamaVocab,

	naming: naming{otherParts: []string{"model.vision."}}, mlx: mlxRow{none: notCompared},
}
