package transformers

import "testing"

// Modules whose numbers a class needs are found by the ends of their names, and no others.
func TestModulesWhoseNumbersAreNeeded(t *testing.T) {
	for _, c := range []struct {
		kind, module string
		want         Reason
	}{
		{"layoutlmv3", "encoder.rel_pos_bias", Read},
		{"layoutlmv3", "layoutlmv3.encoder.rel_pos_x_bias", Read},
		{"layoutlmv3", "rel_pos_bias", None},
		{"layoutlmv3", "xencoder.rel_pos_bias", None},
		{"layoutlmv3", "encoder.layer.0.attention.self.query", None},
		{"wav2vec2", "tdnn.4.kernel", Read},
		{"wav2vec2", "tdnn.kernel", None},
		{"wavlm", "encoder.layers.0.attention.q_proj", Read},
		{"mask2former", "transformer_module.decoder.mask_predictor.mask_embedder.1.0", Held},
		{"mask2former", "transformer_module.decoder.mask_predictor.mask_embedder.0", None},
		{"mask2former", "0", None},
		{"rwkv", "rwkv.blocks.1.attention.output", Read},
		{"rwkv", "rwkv.blocks.1.attention.key", None},
		{"swinv2", "encoder.layers.0.blocks.0.attention.self.continuous_position_bias_mlp.0", Typed},
		{"t5", "encoder.block.0.layer.1.DenseReluDense.wo", Typed},
		{"llama", "model.layers.0.self_attn.q_proj", None},
	} {
		if got := (&Rule{ModelTypes: []string{"", c.kind}}).Needs(c.module); got != c.want {
			t.Errorf("%s %s: %d, not %d", c.kind, c.module, got, c.want)
		}
	}
}
