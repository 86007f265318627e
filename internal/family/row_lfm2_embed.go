package family

import (
	"cmp"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// lfm2EmbedRow: LFM2 without a head, which makes vectors of texts. The dense layer after it, of
// LFM2-ColBERT, is a file of its own and refused.
var lfm2EmbedRow = &row{
	arch: "lfm2", model: "lfm2", names: []string{"Lfm2Model", "Lfm2BidirectionalModel"}, tied: true,
	defaults: lfm2Row.defaults, outer: lfm2Outer, layer: decoderLayer, layers: lfm2Row.layers,
	keys: func(k *keys) {
		lfm2Row.keys(k)
		if list := k.c.root.Get("architectures").List(); len(list) == 1 && list[0].String() == "Lfm2BidirectionalModel" {
			k.putArch("attention.causal", false)
		}
		k.err = cmp.Or(k.err, k.pooling())
		if _, err := fs.Stat(k.files, "1_Dense/model.safetensors"); err == nil {
			k.err = cmp.Or(k.err, wire.At("1_Dense/model.safetensors", "", wire.NoOffset, wire.ErrUnsupported.Errorf("a dense layer after the model, which is not written")))
		}
	}, vocab: gpt2Vocab,

	naming: naming{optionalPrefix: "model."}, mlx: mlxRow{none: notCompared},
}
