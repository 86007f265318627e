package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// apertusRow: no gate, norms of each head, and an activation with four numbers in each
// layer, which llama.cpp has as keys.
var apertusRow = &row{
	arch: "apertus", model: "apertus", names: []string{"ApertusForCausalLM"},
	defaults: []preset{{"vocab_size", "131072"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "65536"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(decoder()[1:], with(headNorms, []mapping{
			{hf: "attention_layernorm", gguf: "attn_norm", shape: dims{Hidden}},
			{hf: "feedforward_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			mlp[1], mlp[2],
			{hf: "mlp.act_fn.alpha_n", key: "xielu.alpha_n", shape: dims{One}, noSuffix: true},
			{hf: "mlp.act_fn.alpha_p", key: "xielu.alpha_p", shape: dims{One}, noSuffix: true},
			{hf: "mlp.act_fn.beta", key: "xielu.beta", noSuffix: true},
			{hf: "mlp.act_fn.eps", key: "xielu.eps", noSuffix: true},
		}...)...)
	}),
	keys: apertusKeys, vocab: llamaVocab,

	mlx: mlxRow{none: notCompared}, back: backward{lost: "the numbers of its activation as tensors"},
}

func apertusKeys(k *keys) {
	smollm3Keys(k)
	k.requireMember("hidden_act", "xielu")
	if r := k.c.rope(); !r.theta.There {
		k.fail("rope_theta", r.theta, "the one known value")
	}
	for _, n := range k.c.row.layers() {
		if n.key == "" {
			continue
		}
		list := k.plan.numbers[n.key]
		if int64(len(list)) != k.c.layers() && k.err == nil {
			k.err = wire.At(configName, "", wire.NoOffset, wire.ErrMissing.Errorf("%d numbers of %s, for %d layers", len(list), n.key, k.c.layers()))
		}
		k.put(n.key, list)
	}
}
