package convert_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/quant"
)

// What keeps transformers from loading GPTQ and AWQ is said of the types that it is known of.
func TestTypesThatDoNotLoadGPTQAndAWQAreReported(t *testing.T) {
	matrix := typed{shape: []int64{128, 128}, plain: "F16"}
	for _, c := range []struct{ kind, format, name, says string }{
		{"t5", "gptq", "decoder.block.0.layer.0.SelfAttention.q", "SelfAttention.q by hand"},
		{"t5", "awq", "encoder.block.0.layer.1.DenseReluDense.wi", "DenseReluDense.wi by hand"},
		{"llama", "gptq", "model.layers.0.self_attn.q_proj", ""},
		{"llama", "awq", "model.layers.0.self_attn.q_proj", ""},
		{"whisper", "gptq", "model.encoder.layers.0.fc1", "main input of these is input_features"},
		{"whisper", "awq", "model.encoder.layers.0.fc1", ""},
	} {
		b := account(t)
		p, err := convert.NewPlan(b, typedModel(t, b, c.kind, map[string]typed{c.name + ".weight": matrix}), convert.Options{Quantize: quantizerTo(t, c.format), Shard: 1 << 30, Quant: quant.Options{Folder: true}})
		if err != nil {
			t.Errorf("%s, %s: %v", c.kind, c.format, err)
			continue
		}
		if said := p.Quantized.BreaksAgain; (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s, %s: %q", c.kind, c.format, said)
		}
	}
}

// optimum makes GPTQ's modules of all linear ones below the blocks that it finds: where others
// are quantized, the configuration names them.
func TestGPTQNamesModulesWhereBlocksDoNot(t *testing.T) {
	matrix := typed{shape: []int64{128, 128}, plain: "F16"}
	for _, c := range []struct {
		kind  string
		names []string
		want  []any // nil where optimum finds them
	}{
		{"llama", []string{"lm_head", "model.embed_tokens", "model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj"}, nil},
		{"llama", []string{"embed_tokens", "layers.0.mlp.up_proj"}, nil},
		{"bert", []string{"bert.embeddings.word_embeddings", "bert.encoder.layer.0.intermediate.dense", "bert.pooler.dense"}, []any{"bert.encoder.layer.0.intermediate.dense", "bert.pooler.dense"}},
		// A linear module in a block that is left alone.
		{"weird", []string{"model.layers.0.mlp.up_proj", "model.layers.0.mlp.router"}, []any{"model.layers.0.mlp.up_proj"}},
	} {
		tensors := map[string]typed{}
		for _, name := range c.names {
			tensors[name+".weight"] = matrix
		}
		b := account(t)
		m := folderOf(t, b, typedModel(t, b, c.kind, tensors), convert.Options{Quantize: quantizerTo(t, "gptq"), Shard: 1 << 30, Quant: quant.Options{Folder: true}})
		text, err := fs.ReadFile(m.Configs(), "config.json")
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			Of struct {
				Block   *string `json:"block_name_to_quantize"`
				Modules [][]any `json:"modules_in_block_to_quantize"`
			} `json:"quantization_config"`
		}
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		var got []any
		for _, list := range config.Of.Modules {
			got = append(got, list...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (config.Of.Block != nil) != (c.want != nil) {
			t.Errorf("%s %v: %s\n%s", c.kind, c.names, diff, text)
		}
	}
}
