package forms_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// countedFolder is a folder with a configuration and tensors of F32 that count from one on.
func countedFolder(t *testing.T, b *limits.Budget, config string, tensors ...string) *safetensors.File {
	t.Helper()
	var head []string
	size := int64(0)
	for _, one := range tensors {
		name, shape, _ := strings.Cut(one, " ")
		n := int64(1)
		for _, d := range strings.Split(shape, ",") {
			var k int64
			if _, err := fmt.Sscan(d, &k); err != nil {
				t.Fatal(err)
			}
			n *= k
		}
		head = append(head, fmt.Sprintf(`%q:{"dtype":"F32","shape":[%s],"data_offsets":[%d,%d]}`, name, shape, size, size+4*n))
		size += 4 * n
	}
	body := "{" + strings.Join(head, ",") + "}"
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(body))), body...)
	for i := range size / 4 {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(float32(i+1)))
	}
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m.Folder = fstest.MapFS{"config.json": {Data: []byte(config)}}
	return m
}

// numbersOf are the numbers of a tensor of F32.
func numbersOf(t *testing.T, b *limits.Budget, m tensor.Model, name string) []float32 {
	t.Helper()
	for i := range m.Tensors() {
		if i.Name != name {
			continue
		}
		body, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(io.LimitReader(body, i.Span.Len))
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float32, len(raw)/4)
		for k := range out {
			out[k] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:]))
		}
		return out
	}
	t.Fatalf("no tensor %s", name)
	return nil
}

const neox = `{"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 2, "num_attention_heads": %d, "num_hidden_layers": 1, "intermediate_size": 2, "vocab_size": 1, "rotary_pct": 1.0}`

var neoxTensors = []string{
	"gpt_neox.layers.0.attention.query_key_value.weight 6,2", "gpt_neox.layers.0.attention.query_key_value.bias 6",
	"gpt_neox.embed_in.weight 1,2", "gpt_neox.final_layer_norm.weight 2", "embed_out.weight 1,2",
	"gpt_neox.layers.0.input_layernorm.weight 2", "gpt_neox.layers.0.attention.dense.weight 2,2", "gpt_neox.layers.0.post_attention_layernorm.weight 2",
	"gpt_neox.layers.0.mlp.dense_h_to_4h.weight 2,2", "gpt_neox.layers.0.mlp.dense_4h_to_h.weight 2,2",
	"gpt_neox.final_layer_norm.bias 2", "gpt_neox.layers.0.input_layernorm.bias 2", "gpt_neox.layers.0.attention.dense.bias 2", "gpt_neox.layers.0.post_attention_layernorm.bias 2",
	"gpt_neox.layers.0.mlp.dense_h_to_4h.bias 2", "gpt_neox.layers.0.mlp.dense_4h_to_h.bias 2",
}

// llama.cpp asks for every tensor of this folder, biases too: without one of them there is no file.
func TestAFolderWithoutATensorThatLlamaCPPNeedsIsRefused(t *testing.T) {
	b := converttest.Account(t)
	for i, left := range neoxTensors {
		_, err := forms.LlamaCPP{TensorsAlone: true}.Model(b, countedFolder(t, b, fmt.Sprintf(neox, 2), slices.Delete(slices.Clone(neoxTensors), i, i+1)...))
		if !errors.Is(err, wire.ErrMissing) {
			t.Errorf("without %s: %v", left, err)
		}
	}
}

// In the folder, query, key and value of each head are adjacent; llama.cpp has them in separate
// tensors.
func TestRowsOfHeadsAreGathered(t *testing.T) {
	b := converttest.Account(t)
	m, err := forms.LlamaCPP{TensorsAlone: true}.Model(b, countedFolder(t, b, fmt.Sprintf(neox, 2), neoxTensors...))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := numbersOf(t, b, m, "blk.0.attn_qkv.weight"), []float32{1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("weight %v, want %v", got, want)
	}
	if got, want := numbersOf(t, b, m, "blk.0.attn_qkv.bias"), []float32{13, 16, 14, 17, 15, 18}; !slices.Equal(got, want) {
		t.Errorf("bias %v, want %v", got, want)
	}
}

// Names that are equal once a prefix is removed, members from which no number of rows follows, and
// missing factors.
func TestHostileConfigurationsOfFamiliesAreRefused(t *testing.T) {
	bloom := `{"architectures": ["BloomForCausalLM"], "hidden_size": 2, "n_head": 1, "n_layer": 1, "vocab_size": 1}`
	next := `{"architectures": ["Qwen3NextForCausalLM"], "hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 1, "vocab_size": 1, "linear_num_key_heads": %d, "linear_num_value_heads": %d, "linear_key_head_dim": 1, "linear_value_head_dim": %d}`
	falcon := `{"architectures": ["FalconH1ForCausalLM"], "hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 1, "vocab_size": 1, "embedding_multiplier": %s}`
	for _, c := range []struct {
		name, config, place string
		tensors             []string
		class               wire.Class
	}{
		{"a name twice", bloom, "output_norm.weight", []string{"ln_f.weight 2", "transformer.ln_f.weight 2"}, wire.Malformed},
		{"a prefix twice", bloom, "transformer.transformer.ln_f", []string{"transformer.transformer.ln_f.weight 2"}, wire.Unsupported},
		{"heads that no rows come of", fmt.Sprintf(neox, 3), "config.json", neoxTensors[:1], wire.Malformed},
		{"no heads of keys", fmt.Sprintf(next, 0, 2, 1), "config.json", []string{"model.embed_tokens.weight 1,2"}, wire.Malformed},
		{"heads of values that fall to no key", fmt.Sprintf(next, 2, 3, 1), "config.json", []string{"model.embed_tokens.weight 1,2"}, wire.Malformed},
		{"values of no width", fmt.Sprintf(next, 1, 4096, 0), "config.json", []string{"model.embed_tokens.weight 1,2"}, wire.Malformed},
		{"layers ahead without end", fmt.Sprintf(next, 1, 1, 1), "config.json", []string{"mtp.layers.65535.input_layernorm.weight 2"}, wire.Malformed},
		{"a factor that is missing", fmt.Sprintf(falcon, "null"), "embed_tokens", []string{"model.embed_tokens.weight 1,2"}, wire.Malformed},
		{"a factor that is none", fmt.Sprintf(falcon, "1e300"), "embed_tokens", []string{"model.embed_tokens.weight 1,2"}, wire.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := converttest.Account(t)
			_, err := forms.LlamaCPP{TensorsAlone: true}.Model(b, countedFolder(t, b, c.config, c.tensors...))
			if err == nil || wire.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.place) {
				t.Errorf("class %v, want %v at %s: %v", wire.ClassOf(err), c.class, c.place, err)
			}
		})
	}
}
