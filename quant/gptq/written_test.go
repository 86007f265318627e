package gptq_test

import (
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/quant"
)

// optimum makes GPTQ's modules of all linear ones below the blocks that it finds: where others
// are quantized, the configuration names them.
func TestGPTQNamesModulesWhereBlocksDoNot(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{128, 128}, Plain: "F16"}
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
		tensors := map[string]converttest.Typed{}
		for _, name := range c.names {
			tensors[name+".weight"] = matrix
		}
		b := converttest.Account(t)
		m := converttest.Folder(t, b, converttest.TypedModel(t, b, c.kind, tensors), convert.Options{Quantize: converttest.To(t, "gptq"), Shard: 1 << 30, Quant: quant.Options{Folder: true}})
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
