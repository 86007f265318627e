package convert_test

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
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// llamaOfOneLayer is the tensors of a model of one layer; the rows of the query are
// numbered.
func llamaOfOneLayer(t *testing.T, b *limits.Budget, config string, leave string) tensor.Model {
	return llamaOf(t, b, config, leave, 1)
}

// llamaOf is the same model, each dimension so many times as large, and its numbers
// random.
func llamaOf(t *testing.T, b *limits.Budget, config string, leave string, times uint32) *safetensors.File {
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

const llamaConfig = `{"architectures": ["LlamaForCausalLM"], "vocab_size": 3, "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1,
 "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}`

func TestQueryAndKeyRowsAreReorderedForLlamaCPP(t *testing.T) {
	b := account(t)
	m, err := forms.LlamaCPP{Name: "x", Pre: "default"}.Model(b, llamaOfOneLayer(t, b, llamaConfig, ""))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range m.Tensors() {
		if i.Name != "blk.0.attn_q.weight" {
			continue
		}
		r, ok := m.At(i)
		p := make([]byte, i.Span.Len)
		if _, err := r.ReadAt(p, 0); err != nil || !ok {
			t.Fatal(err)
		}
		for row := range 8 {
			got += fmt.Sprint(binary.LittleEndian.Uint32(p[row*16:]) >> 23)
		}
		tail := make([]byte, 20) // from the middle of a row on
		if _, err := r.ReadAt(tail, 24); err != nil || !bytes.Equal(tail, p[24:44]) {
			t.Error("a part differs from the whole", err)
		}
	}
	if got != "02134657" {
		t.Errorf("rows of the query: %s", got)
	}
	if _, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{}}); err != nil {
		t.Error(err)
	}
}

func TestConfigurationsThatARowDoesNotCoverAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, old, new, leave string
		class                 wire.Class
	}{
		{"an unknown architecture", "LlamaForCausalLM", "OtherForCausalLM", "", wire.Unsupported},
		{"no architecture", `["LlamaForCausalLM"]`, `[]`, "", wire.Unsupported},
		{"a width that the tensors do not have", `"hidden_size": 4`, `"hidden_size": 8`, "", wire.Malformed},
		{"a layer that is not there", `"num_hidden_layers": 1`, `"num_hidden_layers": 2`, "", wire.Malformed},
		{"layers without end", `"num_hidden_layers": 1`, `"num_hidden_layers": 1000000000`, "", wire.Malformed},
		{"no heads", `"num_attention_heads": 2`, `"num_attention_heads": 0`, "", wire.Malformed},
		{"a vocabulary of another size", `"vocab_size": 3`, `"vocab_size": 2`, "", wire.Malformed},
		{"a tensor that is missing", "", "", "model.layers.0.mlp.up_proj", wire.Malformed},
		{"a head that is missing and not tied", "", "", "lm_head", wire.Malformed},
		{"rotations of an unknown kind", `"head_dim": 4`, `"head_dim": 4, "rope_scaling": {"type": "odd", "factor": 2}`, "", wire.Malformed},
		{"no JSON", `{"arch`, `{{"arch`, "", wire.Malformed},
	} {
		b := account(t)
		config := strings.Replace(llamaConfig, c.old, c.new, 1)
		_, err := forms.LlamaCPP{Pre: "default"}.Model(b, llamaOfOneLayer(t, b, config, c.leave))
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: class %v: %v", c.name, wire.ClassOf(err), err)
		}
	}
}
