package family

import (
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A namedModel is a folder that has only names and shapes of tensors.
type namedModel struct {
	tensor.Model
	list  []tensor.Info
	files fstest.MapFS
}

func (m namedModel) Format() string                 { return "test" }
func (m namedModel) Len() int                       { return len(m.list) }
func (m namedModel) Tensors() iter.Seq[tensor.Info] { return slices.Values(m.list) }
func (m namedModel) Configs() fs.FS                 { return m.files }

// The architecture that CONTRIBUTING.md shows as a diff is converted: the names are those of
// SeedOssForCausalLM in transformers, and what llama.cpp's converter calls them.
func TestTheArchitectureOfContributingIsConverted(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	want := map[string][]int64{"token_embd.weight": {8, 64}, "output_norm.weight": {64}, "output.weight": {8, 64}}
	have := map[string][]int64{"model.embed_tokens.weight": {8, 64}, "model.norm.weight": {64}, "lm_head.weight": {8, 64}}
	for l := range 2 {
		for _, n := range []struct {
			hf, gguf string
			shape    []int64
		}{
			{"input_layernorm.weight", "attn_norm.weight", []int64{64}}, {"post_attention_layernorm.weight", "post_attention_norm.weight", []int64{64}},
			{"self_attn.q_proj.weight", "attn_q.weight", []int64{128, 64}}, {"self_attn.q_proj.bias", "attn_q.bias", []int64{128}},
			{"self_attn.k_proj.weight", "attn_k.weight", []int64{64, 64}}, {"self_attn.v_proj.weight", "attn_v.weight", []int64{64, 64}},
			{"self_attn.o_proj.weight", "attn_output.weight", []int64{64, 128}},
			{"mlp.gate_proj.weight", "ffn_gate.weight", []int64{96, 64}}, {"mlp.up_proj.weight", "ffn_up.weight", []int64{96, 64}}, {"mlp.down_proj.weight", "ffn_down.weight", []int64{64, 96}},
		} {
			have[fmt.Sprintf("model.layers.%d.%s", l, n.hf)] = n.shape
			want[fmt.Sprintf("blk.%d.%s", l, n.gguf)] = n.shape
		}
	}
	m := namedModel{files: fstest.MapFS{configName: {Data: []byte(`{"architectures": ["SeedOssForCausalLM"], "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
		"head_dim": 32, "num_hidden_layers": 2, "intermediate_size": 96, "vocab_size": 8}`)}}}
	for name, shape := range have {
		m.list = append(m.list, tensor.Info{Name: name, DType: tensor.BF16, Shape: shape})
	}
	plan, err := New(b, m, Options{TensorsAlone: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, one := range plan.Tensors {
		got[one.Name] = true
		if !slices.Equal(one.Shape, want[one.Name]) {
			t.Errorf("%s is %v, want %v", one.Name, one.Shape, want[one.Name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tensors, want %d", len(got), len(want))
	}
}
