package family

import (
	"cmp"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// gemma4UnifiedRow: Gemma 4 whose images and sounds are embedded without an encoder.
var gemma4UnifiedRow = &row{
	arch: "gemma4", model: "gemma4_unified", names: []string{"Gemma4UnifiedForConditionalGeneration"}, tied: true,
	defaults: gemma4Row.defaults, outer: gemma4Row.outer, layer: decoderLayer, layers: lazy(gemma4Layers),
	keys: func(k *keys) {
		gemma4Keys(k)
		v, err := jsontree.Read(k.b, k.files, "generation_config.json", maxConfig)
		if err != nil {
			k.err = cmp.Or(k.err, err)
			return
		}
		list := v.Get("suppress_tokens")
		if !list.There {
			return
		}
		numbers, err := limits.Make[int32](k.b, len(list.List()))
		k.err = cmp.Or(k.err, err)
		for i := range numbers {
			n, ok := list.List()[i].Int()
			if !ok || n < 0 || n >= k.c.int("vocab_size") {
				k.fail("suppress_tokens", list, "a list of tokens")
				return
			}
			numbers[i] = int32(n)
		}
		k.put("tokenizer.ggml.suppress_tokens", numbers)
	}, vocab: gemma4Vocab,

	attention: gemma4Row.attention,
	naming:    naming{skipSuffixes: gemmaSkip, otherParts: []string{"model.vision_embedder.", "model.embed_vision.", "model.embed_audio.", "model.audio_embedder."}}, mlx: mlxRow{none: notCompared},
}
