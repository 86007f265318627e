package family

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// arcticRow: Arctic, experts beside a feed-forward layer of its own.
var arcticRow = &row{
	arch: "arctic", model: "arctic", names: []string{"ArcticForCausalLM"},
	defaults: []preset{{"vocab_size", "32000"}, {"rms_norm_eps", "1e-05"}, {"max_position_embeddings", "4096"}, {"num_local_experts", "8"}, {"num_experts_per_tok", "1"}},
	outer:    outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return with(permuted(decoder()), with(sparseExperts, []mapping{
			{hf: "post_attention_layernorm", gguf: "ffn_norm_exps", shape: dims{Hidden}},
			{hf: "residual_layernorm", gguf: "ffn_norm", shape: dims{Hidden}},
			{hf: "residual_mlp.w1", gguf: "ffn_gate", shape: dims{Hidden, Hidden}},
			{hf: "residual_mlp.w2", gguf: "ffn_down", shape: dims{Hidden, Hidden}},
			{hf: "residual_mlp.w3", gguf: "ffn_up", shape: dims{Hidden, Hidden}},
		}...)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.u32("vocab_size", "vocab_size")
		k.putArch("rope.dimension_count", uint32(k.c.hidden()/k.c.heads()))
		k.requireMember("moe_layer_frequency", "1")
		k.requireMember("parallel_attn_mlp_res", "true")
	}, vocab: arcticVocab,

	mlx: mlxRow{none: notCompared},
}

// arcticVocab adds the pieces of sentencepiece. Tokens of tokenizer_config.json replace two of them.
func arcticVocab(k *keys) error {
	m, err := tokenizer.ReadSPM(k.b, k.files, tokenizer.SPMName)
	if err != nil {
		return err
	}
	if m.Model != 2 {
		return wire.At(tokenizer.SPMName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("a model that is not BPE: llama.cpp would merge its pieces as if it were"))
	}
	v, err := k.newVocab(k.vocabSize(m), true)
	if err != nil {
		return err
	}
	if err := k.putPieces(v, m.Pieces, 0); err != nil {
		return err
	}
	if err := k.pad(v); err != nil {
		return err
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	for one := range config.Get("added_tokens_decoder").Members() {
		if err := k.b.Step(1); err != nil {
			return err
		}
		id, err := strconv.ParseUint(one.Name, 10, 31)
		text := one.Value.Get("content").String()
		if err != nil || text == "" {
			return wire.At(tokenizerConfig, "", one.Value.Off(), wire.ErrSyntax.Errorf("added token %s", wire.Quote(one.Name)))
		}
		if id >= uint64(len(v.texts)) {
			continue
		}
		v.texts[id], v.scores[id], v.types[id] = text, -10000, typeUserDefined
		if one.Value.Get("special").True() {
			v.scores[id], v.types[id] = 0, typeControl
			if text == config.Get("unk_token").String() {
				v.types[id] = typeUnknown
			}
		}
	}
	k.addVocab("llama", "default", v)
	return k.special(nil, nil, int64(len(v.texts)))
}
