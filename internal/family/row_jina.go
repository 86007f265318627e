package family

import (
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// jinaRow: Jina's second embeddings, BERT with gated layers and ALiBi. Those for code have
// other norms, and are refused by their names.
var jinaRow = &row{
	arch: "jina-bert-v2", model: "bert", names: []string{"JinaBertForMaskedLM", "JinaBertModel"},
	defaults: bertDefaults,
	outer:    []mapping{bertOuter[0], bertOuter[2], bertOuter[3]}, layer: "encoder.layer.#.",
	layers: lazy(func() []mapping {
		return with(bertLayers[:5:5],
			mapping{hf: "mlp.gated_layers", gguf: "ffn_up", shape: dims{GateUp, Hidden}},
			mapping{hf: "mlp.wo", gguf: "ffn_down", shape: dims{Hidden, FFN}},
			mapping{hf: "mlp.layernorm", gguf: "layer_output_norm", shape: dims{Hidden}},
		)
	}),
	biased: []string{"attn_output", "attn_output_norm", "ffn_down", "layer_output_norm", "token_embd_norm"},
	keys:   bertKeys, vocab: jinaVocab,

	naming: naming{trimPrefixes: []string{"bert."}, skipSuffixes: bertSkip, skipPrefixes: bertDrop}, mlx: mlxRow{none: apartBERT}, back: backward{members: jinaBack},
}

// jinaVocab adds the vocabulary that the folder states: WordPiece, or a BPE of bytes for
// two token types.
func jinaVocab(k *keys) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	switch class := config.Get("tokenizer_class"); class.String() {
	case "BertTokenizer", "BertTokenizerFast":
		return bertVocab(k)
	case "RobertaTokenizer":
		err := gpt2Vocab(k)
		k.put("tokenizer.ggml.token_type_count", uint32(2))
		return err
	default:
		k.fail("tokenizer_class", class, "BertTokenizer or RobertaTokenizer")
		return k.err
	}
}

func jinaBack(s *settings) {
	s.encoder()
	s.biases("", s.layers(), "attn_q", "attn_k", "attn_v", "attn_output", "ffn_down", "attn_output_norm", "layer_output_norm")
	s.put("feed_forward_type", `"geglu"`)
	s.put("position_embedding_type", `"alibi"`)
	s.put("hidden_act", `"gelu"`)
}
