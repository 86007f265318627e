package family

import (
	"cmp"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Granite with attention windows: some layers have one, and each head a sink.

var graniteSWADefaults = append(graniteMoeDefaults[:len(graniteMoeDefaults):len(graniteMoeDefaults)], preset{"sliding_window", "128"})

func graniteSWALayers(more ...mapping) []mapping {
	return permuted(decoder(with([]mapping{
		ffnNorm,
		{hf: "self_attn.sinks", gguf: "attn_sinks", shape: dims{Heads}, noSuffix: true},
	}, more...)...))
}

func graniteSWAKeys(k *keys) {
	graniteKeys(k)
	windowKeys(k, 4)
	turned := k.c.get("no_rope_layers")
	if !turned.There {
		return
	}
	list, err := limits.Make[bool](k.b, min(len(turned.List()), maxLayers))
	if err != nil {
		k.err = cmp.Or(k.err, err)
		return
	}
	for i := range list {
		n, _ := turned.List()[i].Int()
		list[i] = n != 0
	}
	k.putArch("attention.rope_pattern", list)
}

var graniteSWARow = &row{
	arch: "granite_swa", model: "granite_swa", names: []string{"GraniteSWAForCausalLM"},
	defaults: append(graniteRow.defaults[:len(graniteRow.defaults):len(graniteRow.defaults)], preset{"sliding_window", "128"}), outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping { return graniteSWALayers(mlp...) }),
	keys:   graniteSWAKeys, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared},
}

var graniteMoeSWARow = &row{
	arch: "granite_swa", model: "granitemoe_swa", names: []string{"GraniteMoeSWAForCausalLM"},
	defaults: graniteSWADefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return graniteSWALayers(
			mapping{hf: "block_sparse_moe.router", gguf: "ffn_gate_inp", shape: dims{Experts, Hidden}},
			mapping{hf: "block_sparse_moe.experts.gate_up_proj", gguf: "ffn_gate_up_exps", shape: dims{Experts, GateUp, Hidden}, noSuffix: true},
			mapping{hf: "block_sparse_moe.experts.down_proj", gguf: "ffn_down_exps", shape: dims{Experts, Hidden, FFN}, noSuffix: true},
			mapping{hf: "shared_mlp.input_linear", gguf: "ffn_up_shexp", shape: dims{SharedGateUp, Hidden}},
			mapping{hf: "shared_mlp.output_linear", gguf: "ffn_down_shexp", shape: dims{Hidden, SharedDense}},
		)
	}),
	keys: func(k *keys) {
		graniteSWAKeys(k)
		k.u32("expert_shared_feed_forward_length", "shared_intermediate_size")
	}, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared},
}
