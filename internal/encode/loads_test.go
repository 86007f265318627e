package encode_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/quant"
)

// What keeps transformers from loading GPTQ and AWQ is said of the types that it is known of.
func TestTypesThatDoNotLoadGPTQAndAWQAreReported(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{128, 128}, Plain: "F16"}
	for _, c := range []struct{ kind, format, name, says string }{
		{"t5", "gptq", "decoder.block.0.layer.0.SelfAttention.q", "SelfAttention.q by hand"},
		{"t5", "awq", "encoder.block.0.layer.1.DenseReluDense.wi", "DenseReluDense.wi by hand"},
		{"llama", "gptq", "model.layers.0.self_attn.q_proj", ""},
		{"llama", "awq", "model.layers.0.self_attn.q_proj", ""},
		{"whisper", "gptq", "model.encoder.layers.0.fc1", "main input of these is input_features"},
		{"whisper", "awq", "model.encoder.layers.0.fc1", ""},
	} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, c.kind, map[string]converttest.Typed{c.name + ".weight": matrix}), convert.Options{Quantize: converttest.To(t, c.format), Shard: 1 << 30, Quant: quant.Options{Folder: true}})
		if err != nil {
			t.Errorf("%s, %s: %v", c.kind, c.format, err)
			continue
		}
		if said := p.Quantized.BreaksAgain; (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s, %s: %q", c.kind, c.format, said)
		}
	}
}
