package converttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// WideConfig is LlamaConfig with each dimension 64 times as large.
var WideConfig = strings.NewReplacer(`_size": 3`, `_size": 192`, `_size": 4`, `_size": 256`, `_size": 6`, `_size": 384`, `_dim": 4`, `_dim": 256`).Replace(LlamaConfig)

// LlamaOfOneLayer returns a llama of one layer without the tensor that leave names. The numbers of
// a row tell which row it is.
func LlamaOfOneLayer(t *testing.T, b *limits.Budget, config string, leave string) tensor.Model {
	return LlamaOf(t, b, config, leave, 1)
}

// LlamaOf returns the same model with each dimension multiplied by times. Where that is more than
// 1, its numbers are random.
func LlamaOf(t *testing.T, b *limits.Budget, config string, leave string, times uint32) *safetensors.File {
	t.Helper()
	var list []string
	var body []byte
	for _, one := range []string{
		"model.embed_tokens 3,4", "lm_head 3,4", "model.norm 4", "model.layers.0.input_layernorm 4", "model.layers.0.post_attention_layernorm 4",
		"model.layers.0.self_attn.q_proj 8,4", "model.layers.0.self_attn.k_proj 4,4", "model.layers.0.self_attn.v_proj 4,4", "model.layers.0.self_attn.o_proj 4,8",
		"model.layers.0.mlp.gate_proj 6,4", "model.layers.0.mlp.up_proj 6,4", "model.layers.0.mlp.down_proj 4,6",
	} {
		name, shape, _ := strings.Cut(one, " ")
		if name == leave {
			continue
		}
		var rows, cols uint32 = 1, 1
		if n, _ := fmt.Sscanf(shape, "%d,%d", &rows, &cols); n == 1 {
			rows, cols = rows*times, 1
		} else {
			rows, cols = rows*times, cols*times
		}
		from, dims := len(body), fmt.Sprintf("[%d,%d]", rows, cols)
		if !strings.Contains(shape, ",") {
			dims = fmt.Sprintf("[%d]", rows)
		}
		for i := range rows * cols {
			bits := i / cols << 23
			if times > 1 { // numbers that a format has codes for
				bits = math.Float32bits(float32(int32(i*2654435761)) / (1 << 33))
			}
			body = binary.LittleEndian.AppendUint32(body, bits)
		}
		list = append(list, fmt.Sprintf(`"%s.weight":{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, dims, from, len(body)))
	}
	head := "{" + strings.Join(list, ",") + "}"
	file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), body...)
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m.Folder = fstest.MapFS{
		"config.json":    {Data: []byte(config)},
		"tokenizer.json": {Data: []byte(`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "decoder": {"type": "ByteLevel"}}`)},
	}
	return m
}

// LlamaConfig is the config.json of LlamaOfOneLayer.
const LlamaConfig = `{"architectures": ["LlamaForCausalLM"], "vocab_size": 3, "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1,
 "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}`

// GGUFOfOneLayer returns LlamaOfOneLayer as GGUF, with keys that change changes and tensors that
// keep keeps.
func GGUFOfOneLayer(t *testing.T, b *limits.Budget, change func([]convert.Entry) ([]convert.Entry, error), keep func(string) bool) *gguf.File {
	t.Helper()
	m, err := forms.LlamaCPP{Name: "x", Pre: "gpt-2"}.Model(b, LlamaOfOneLayer(t, b, LlamaConfig, ""))
	if err != nil {
		t.Fatal(err)
	}
	body := Run(t, b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, Meta: change, Keep: keep})
	f, err := gguf.Decode(b, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
