package family

import (
	"slices"
)

// baichuanRow: the 7B has rotary embeddings, the 13B has ALiBi. llama.cpp tells them apart
// by the number of layers.
var baichuanRow = &row{
	arch: "baichuan", model: "baichuan", names: []string{"BaichuanForCausalLM", "BaiChuanForCausalLM"},
	defaults: []preset{{"vocab_size", "125696"}, {"rms_norm_eps", "1e-06"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return slices.Concat(decoder()[:1], []mapping{
			{hf: "self_attn.W_pack", shape: dims{Hidden3, Hidden}, views: stackedQKV()},
			{hf: "self_attn.o_proj", gguf: "attn_output", shape: dims{Hidden, Hidden}},
			ffnNorm,
		}, mlp)
	}),
	keys: func(k *keys) {
		common(k)
		k.putArch("tensor_data_layout", "Meta AI original pth")
		k.putArch("rope.dimension_count", uint32(k.c.hidden()/k.c.heads()))
		if n := k.c.layers(); n != 32 && n != 40 {
			k.fail("num_hidden_layers", k.c.get("num_hidden_layers"), "32 (7B, which rotates) or 40 (13B, which does not): llama.cpp knows no others")
		}
		if k.c.kvHeads() != k.c.heads() {
			k.fail("num_key_value_heads", k.c.get("num_key_value_heads"), "the number of attention heads")
		}
		k.requireMember("hidden_act", "silu")
	}, vocab: spmVocab,

	mlx: mlxRow{none: notCompared}, back: backward{members: func(s *settings) {
		_, _, head := s.common()
		s.rotations(head)
		if layout, _ := s.key("tensor_data_layout"); layout != "Meta AI original pth" {
			s.fail("baichuan.tensor_data_layout", "its value is %s", valueText(layout))
		}
		n, _ := s.int("context_length")
		s.putInt("model_max_length", n)
		s.put("hidden_act", `"silu"`)
	}},
}
