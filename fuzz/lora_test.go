package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge/lora"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// loraBase is the model that adapters are merged into.
var loraBase = fixtures.Safetensors(
	fixtures.Whole("model.l.weight", "BF16", 1, 6, 4), fixtures.Whole("model.l.bias", "BF16", 2, 6), fixtures.Whole("model.s.weight", "F32", 3, 4, 4),
	fixtures.Whole("model.embed_tokens.weight", "BF16", 4, 9, 4), fixtures.Whole("model.c.weight", "F32", 5, 3, 2, 2, 2), fixtures.Whole("model.e.up", "BF16", 6, 2, 4, 6),
	fixtures.Whole("model.mlp.experts.0.gate_proj.weight", "BF16", 7, 3, 4), fixtures.Whole("model.mlp.experts.0.up_proj.weight", "BF16", 8, 3, 4),
	fixtures.Whole("model.mlp.experts.1.gate_proj.weight", "BF16", 7, 3, 4), fixtures.Whole("model.mlp.experts.1.up_proj.weight", "BF16", 8, 3, 4),
)

// loraBaseConfig is the configuration beside it.
const loraBaseConfig = `{"model_type":"qwen3_moe","vocab_size":9,"tie_word_embeddings":true}`

// FuzzLoRA merges any bytes as an adapter, with any text as its configuration. The result
// must have the base's tensors, and be the same for any number of workers. A tighter
// account must give the same result or a limit error.
func FuzzLoRA(f *testing.F) {
	pair := func(module string, rank, out, in int64) []byte {
		return fixtures.Safetensors(
			fixtures.Whole("base_model.model.model."+module+".lora_A.weight", "F32", 1, rank, in),
			fixtures.Whole("base_model.model.model."+module+".lora_B.weight", "F32", 2, out, rank))
	}
	f.Add(pair("l", 2, 6, 4), `{"peft_type":"LORA","r":2,"lora_alpha":4,"target_modules":["l"]}`)
	f.Add(pair("l", 2, 6, 4), `{"peft_type":"LORA","r":2,"target_modules":"^(?!.*x)model(?=\\.).*(?<![k])\\.(?:l|s){1,2}$"}`)
	f.Add(pair("s", 3, 4, 4), `{"peft_type":"LORA","r":3,"fan_in_fan_out":true,"use_rslora":true,"rank_pattern":{},"alpha_pattern":{"s":2}}`)
	f.Add(fixtures.Safetensors(
		fixtures.Whole("base_model.model.model.l.lora_A.weight", "BF16", 1, 2, 4), fixtures.Whole("base_model.model.model.l.lora_B.weight", "BF16", 2, 6, 2),
		fixtures.Whole("base_model.model.model.l.lora_magnitude_vector", "F32", 3, 6)), `{"peft_type":"LORA","r":2,"use_dora":true}`)
	f.Add(fixtures.Safetensors(
		fixtures.Whole("base_model.model.model.embed_tokens.lora_embedding_A", "F32", 1, 2, 9), fixtures.Whole("base_model.model.model.embed_tokens.lora_embedding_B", "F32", 2, 4, 2),
		fixtures.Whole("base_model.model.score.weight", "F32", 3, 2, 4), fixtures.Whole("base_model.model.model.l.bias", "F32", 3, 6)),
		`{"peft_type":"LORA","r":2,"modules_to_save":["score"],"bias":"all"}`)
	f.Add(fixtures.Safetensors(
		fixtures.Whole("base_model.model.model.e.lora_A.weight", "F32", 1, 6, 4), fixtures.Whole("base_model.model.model.e.lora_B.weight", "F32", 2, 6, 6)),
		`{"peft_type":"LORA","r":3,"target_parameters":["e.up"]}`)
	f.Add(fixtures.Safetensors(
		fixtures.Whole("base_model.model.model.c.lora_A.weight", "F32", 1, 2, 2, 2, 2), fixtures.Whole("base_model.model.model.c.lora_B.weight", "F32", 2, 3, 2, 1, 1)),
		`{"peft_type":"LORA","r":2,"lora_alpha":1e300}`)
	f.Add(pair("l", 2, 6, 4), `{"peft_type":"LORA","r":9,"rank_pattern":{"(?:a|.*\\.){9}x":3,"l":2},"alpha_pattern":{"m.del.l":1}}`)
	f.Add(fixtures.Safetensors( // one weight under two names
		fixtures.Whole("base_model.model.model.l.lora_A.weight", "F32", 1, 2, 4), fixtures.Whole("base_model.model.model.l.lora_B.weight", "F32", 2, 6, 2),
		fixtures.Whole("base_model.model.model.l.base_layer.lora_A.weight", "F32", 1, 2, 4), fixtures.Whole("base_model.model.model.l.base_layer.lora_B.weight", "F32", 2, 6, 2)),
		`{"peft_type":"LORA","r":2,"target_parameters":["e.up"]}`)
	f.Add(fixtures.Safetensors( // a stack of what the base has one by one
		fixtures.Whole("base_model.model.model.mlp.experts.lora_A.weight", "F32", 1, 4, 4), fixtures.Whole("base_model.model.model.mlp.experts.lora_B.weight", "F32", 2, 6, 4)),
		`{"peft_type":"LORA","r":2,"target_parameters":["experts.gate_up_proj"]}`)
	f.Add(fixtures.Safetensors(fixtures.Whole("base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta", "F32", 1, 2, 4)),
		`{"peft_type":"LORA","trainable_token_indices":[7,2]}`)
	f.Add(fixtures.Safetensors( // two copies of a larger vocabulary
		fixtures.Whole("base_model.model.model.embed_tokens.weight", "F32", 1, 11, 4), fixtures.Whole("base_model.model.lm_head.weight", "F32", 1, 11, 4)),
		`{"peft_type":"LORA","r":2}`)
	f.Fuzz(func(t *testing.T, data []byte, config string) {
		if len(config) > 4096 {
			return
		}
		var same agreement
		for _, threads := range []int{1, 3} {
			b := fuzz.Ceilings.Budget(t.Context())
			answer, err := mergeLoRA(b, bytes.NewReader(data), int64(len(data)), config, threads)
			b.Close()
			same.hold(t, threads, answer, err)
		}
		fuzz.Target{
			Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
				answer, err := mergeLoRA(b, r, size, config, 1)
				if e, ok := errors.AsType[*wire.Error](err); ok && e.Off > size { // in the base, or the configuration
					at := *e
					at.Off = wire.NoOffset
					err = &at
				}
				return fuzz.Text(answer), err
			},
		}.Check(t, data)
	})
}

// A beside is a model with sibling files.
type beside struct {
	tensor.Model
	files fs.FS
}

func (m beside) Configs() fs.FS { return m.files }

// mergeLoRA merges one adapter and describes what was written.
func mergeLoRA(b *limits.Budget, r io.ReaderAt, size int64, config string, threads int) (string, error) {
	base, err := parser.Decode(b, bytes.NewReader(loraBase), int64(len(loraBase)))
	if err != nil {
		return "", err
	}
	a, err := parser.Decode(b, r, size)
	if err != nil {
		return "", err
	}
	files := fstest.MapFS{"adapter_config.json": {Data: []byte(config)}, "config.json": {Data: []byte(loraBaseConfig)}}
	m, err := lora.Merge(b, beside{base, files}, []lora.Adapter{{Model: beside{a, files}, Weight: 0.5}})
	if err != nil {
		return "", err
	}
	defer m.Close()
	if m.Len() != base.Len()+len(m.Added) {
		return "", &fuzz.Broken{Property: fuzz.Rewritten, Seen: fmt.Sprintf("%d tensors of %d", m.Len(), base.Len())}
	}
	text, err := streamed(b, m, convert.Options{AsIs: true, Sink: m.Sink(), Threads: threads, Tile: 16})
	return fmt.Sprintf("%s %d %q %q", text, m.Adapted, m.Replaced, m.Added), err
}
