package forms_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The stacks of these two families are [experts, in, out]; GGUF has [experts, out, in]. gpt-oss
// interleaves the columns of the gate and of the other half; Llama 4 has one half after the other.
const (
	stackConfig = `"vocab_size": 3, "hidden_size": %d, "intermediate_size": %d, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 4,
		"num_local_experts": %d, "num_experts_per_tok": 1, "rms_norm_eps": 1e-05, "max_position_embeddings": 64, "torch_dtype": "bfloat16", `
	ossStacks    = `"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "sliding_window": 8, "rope_theta": 10000.0, "attention_bias": true, "hidden_act": "silu"}`
	llama4Stacks = `"architectures": ["Llama4ForCausalLM"], "model_type": "llama4_text", "intermediate_size_mlp": 8, "interleave_moe_layer_step": 1, "rope_theta": 10000.0, "hidden_act": "silu"}`
	ossTensors   = `model.embed_tokens.weight VH lm_head.weight VH model.norm.weight H L.input_layernorm.weight H L.post_attention_layernorm.weight H L.self_attn.sinks 1
		L.self_attn.q_proj.weight 4H L.self_attn.q_proj.bias 4 L.self_attn.k_proj.weight 4H L.self_attn.k_proj.bias 4 L.self_attn.v_proj.weight 4H L.self_attn.v_proj.bias 4
		L.self_attn.o_proj.weight H4 L.self_attn.o_proj.bias H L.mlp.router.weight EH L.mlp.router.bias E
		L.mlp.experts.gate_up_proj EHG L.mlp.experts.gate_up_proj_bias EG L.mlp.experts.down_proj EFH L.mlp.experts.down_proj_bias EH`
	llama4Tensors = `model.embed_tokens.weight VH lm_head.weight VH model.norm.weight H L.input_layernorm.weight H L.post_attention_layernorm.weight H
		L.self_attn.q_proj.weight 4H L.self_attn.k_proj.weight 4H L.self_attn.v_proj.weight 4H L.self_attn.o_proj.weight H4 L.feed_forward.router.weight EH
		L.feed_forward.experts.gate_up_proj EHG L.feed_forward.experts.down_proj EFH
		L.feed_forward.shared_expert.gate_proj.weight FH L.feed_forward.shared_expert.up_proj.weight FH L.feed_forward.shared_expert.down_proj.weight HF`
)

// stacksOf is a model of one layer in BF16. Its numbers are all there are, again and again.
func stacksOf(t *testing.T, b *limits.Budget, config, tensors string, hidden, inner, experts int) *safetensors.File {
	t.Helper()
	dims := map[rune]int{'V': 3, 'H': hidden, 'F': inner, 'G': 2 * inner, 'E': experts, '4': 4, '1': 1}
	var list []string
	var body []byte
	words := strings.Fields(tensors)
	for i := 0; i < len(words); i += 2 {
		from, n, shape := len(body), 1, []string{}
		for _, d := range words[i+1] {
			n *= dims[d]
			shape = append(shape, fmt.Sprint(dims[d]))
		}
		for k := range n {
			body = binary.LittleEndian.AppendUint16(body, uint16((k*40503+i)%0x7f80)) // finite, positive
		}
		list = append(list, fmt.Sprintf(`"%s":{"dtype":"BF16","shape":[%s],"data_offsets":[%d,%d]}`,
			strings.Replace(words[i], "L.", "model.layers.0.", 1), strings.Join(shape, ","), from, len(body)))
	}
	head := "{" + strings.Join(list, ",") + "}"
	file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), body...)
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m.Folder = fstest.MapFS{
		"config.json":    {Data: fmt.Appendf(nil, "{"+stackConfig+config, hidden, inner, experts)},
		"tokenizer.json": {Data: []byte(`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "decoder": {"type": "ByteLevel"}}`)},
	}
	return m
}

// turned is the elements [e, out, in] of [e, in, width], of which every step-th column
// from first on is taken.
func turned(src string, size, experts, in, width, out, first, step int) string {
	var dst strings.Builder
	for e := range experts {
		for o := range out {
			for i := range in {
				at := ((e*in+i)*width + first + o*step) * size
				dst.WriteString(src[at : at+size])
			}
		}
	}
	return dst.String()
}

// At most the matrix of one expert of a stack is in memory: an account with memory for one is
// enough, in both directions, for random and for sequential reads.
func TestStacksOfExpertsAreTurnedOneByOne(t *testing.T) {
	const hidden, inner, experts, expert = 520, 510, 9, 520 * 2 * 510 * 2
	for _, c := range []struct {
		name, config, tensors, stem string
		step, second                int
	}{
		{"gpt-oss", ossStacks, ossTensors, "model.layers.0.mlp.experts.", 2, 1},
		{"llama4", llama4Stacks, llama4Tensors, "model.layers.0.feed_forward.experts.", 1, inner},
	} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", in order: ", ordered), func(t *testing.T) {
				b := limits.Policy{MaxSingleAlloc: 2*expert + 1<<16}.Budget(context.Background())
				defer b.Close()
				source := stacksOf(t, b, c.config, c.tensors, hidden, inner, experts)
				if source.Len() < 10 || 2*expert+1<<16 > experts*expert/2 {
					t.Fatal("the account has room for a whole stack")
				}
				want := converttest.Bodies(t, source)
				var in tensor.Model = source
				if ordered {
					in = converttest.InOrder{Model: in}
				}
				m, err := forms.LlamaCPP{Name: "x", Pre: "gpt-2"}.Model(b, in)
				if err != nil {
					t.Fatal(err)
				}
				file := converttest.Run(t, b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, Threads: 2})
				f, err := gguf.Decode(b, bytes.NewReader(file), int64(len(file)))
				if err != nil {
					t.Fatal(err)
				}
				got := converttest.Bodies(t, f)
				both, down := strings.TrimPrefix(want[c.stem+"gate_up_proj"], "BF16"), strings.TrimPrefix(want[c.stem+"down_proj"], "BF16")
				for name, stack := range map[string]string{
					"ffn_gate_exps": turned(both, 2, experts, hidden, 2*inner, inner, 0, c.step),
					"ffn_up_exps":   turned(both, 2, experts, hidden, 2*inner, inner, c.second, c.step),
					"ffn_down_exps": turned(down, 2, experts, inner, hidden, hidden, 0, 1),
				} {
					if got["blk.0."+name+".weight"] != "BF16"+stack {
						t.Errorf("%s is not a transpose of what the folder has", name)
					}
				}
				back, err := forms.Transformers{}.Model(b, f)
				if err != nil {
					t.Fatal(err)
				}
				folder := converttest.Run(t, b, back, convert.Options{Threads: 2})
				again, err := safetensors.Decode(b, bytes.NewReader(folder), int64(len(folder)))
				if err != nil {
					t.Fatal(err)
				}
				for name, body := range converttest.Bodies(t, again) {
					if body != want[name] {
						t.Errorf("%s is not what it was", name)
					}
					delete(want, name)
				}
				if len(want) > 0 {
					t.Errorf("%d tensors are missing", len(want))
				}
			})
		}
	}
}

// Cast numbers are transposed in the same way.
func TestStacksOfExpertsAreCastInOrder(t *testing.T) {
	const hidden, inner, experts = 24, 12, 3
	b := converttest.Account(t)
	source := stacksOf(t, b, ossStacks, ossTensors, hidden, inner, experts)
	stored := strings.TrimPrefix(converttest.Bodies(t, source)["model.layers.0.mlp.experts.gate_up_proj"], "BF16")
	var wide strings.Builder
	for i := 0; i < len(stored); i += 2 {
		number := math.Float32frombits(uint32(stored[i])<<16 | uint32(stored[i+1])<<24)
		_ = binary.Write(&wide, binary.LittleEndian, number)
	}
	m, err := forms.LlamaCPP{Name: "x", Pre: "gpt-2", All: true, Quant: quant.Options{Target: quant.F32}}.Model(b, source)
	if err != nil {
		t.Fatal(err)
	}
	file := converttest.Run(t, b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, CastTo: tensor.F32, Quant: quant.Options{Target: quant.F32}})
	f, err := gguf.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got := converttest.Bodies(t, f)["blk.0.ffn_up_exps.weight"]; got != "F32"+turned(wide.String(), 4, experts, hidden, 2*inner, inner, 1, 2) {
		t.Errorf("%.3q is not a transpose of what the folder has", got)
	}
}
