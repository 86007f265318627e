package memory_test

import (
	"maps"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/memory"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// The figures are those of the formulas in the package's page; crosscheck/cache.py
// compares them with the caches of transformers.
func TestCachesOfModels(t *testing.T) {
	const llama = `"model_type":"llama","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"dtype":"bfloat16"`
	for _, c := range []struct {
		name, config   string
		context, batch int64
		want           int64
		class          wire.Class
	}{
		{"Llama 3 8B", `{` + llama + `}`, 8192, 1, 1 << 30, wire.OK},
		{"in a batch", `{` + llama + `}`, 8192, 4, 4 << 30, wire.OK},
		{"heads by the hidden size", `{"model_type":"llama","num_hidden_layers":2,"num_attention_heads":4,"hidden_size":64,"torch_dtype":"float32"}`, 10, 1, 2 * 2 * 4 * 16 * 10 * 4, wire.OK},
		{"a text model in another", `{"model_type":"llava","dtype":"float16","text_config":{"model_type":"mistral","num_hidden_layers":2,"num_attention_heads":4,"head_dim":8,"sliding_window":null}}`, 10, 1, 2 * 2 * 4 * 8 * 10 * 2, wire.OK},
		{"windows in all layers", `{"model_type":"mistral","num_hidden_layers":2,"num_attention_heads":4,"head_dim":8,"sliding_window":6,"dtype":"float16"}`, 10, 1, 2 * 2 * 4 * 8 * 6 * 2, wire.OK},
		{"windows in some", `{"model_type":"gemma2","num_hidden_layers":3,"num_attention_heads":4,"head_dim":8,"sliding_window":6,"dtype":"float16","layer_types":["sliding_attention","full_attention","sliding_attention"]}`, 10, 1, 2 * 4 * 8 * 2 * (6 + 10 + 6), wire.OK},
		{"a window that is never full", `{"model_type":"mistral","num_hidden_layers":2,"num_attention_heads":4,"head_dim":8,"sliding_window":600,"dtype":"float16"}`, 10, 1, 2 * 2 * 4 * 8 * 10 * 2, wire.OK},
		{"DeepSeek V3, 70,272 bytes a token", `{"model_type":"deepseek_v3","num_hidden_layers":61,"kv_lora_rank":512,"qk_rope_head_dim":64,"dtype":"bfloat16"}`, 1, 1, 70272, wire.OK},
		{"an unknown type", `{"model_type":"mamba","num_hidden_layers":2}`, 1, 1, 0, wire.Unsupported},
		{"no type", `{}`, 1, 1, 0, wire.Unsupported},
		{"no config", ``, 1, 1, 0, wire.Unsupported},
		{"layers of another kind", `{` + llama + `,"layer_types":["linear_attention"]}`, 1, 1, 0, wire.Malformed},
		{"another kind of layer", `{"model_type":"llama","num_hidden_layers":1,"num_attention_heads":4,"head_dim":8,"dtype":"float16","layer_types":["linear_attention"]}`, 1, 1, 0, wire.Unsupported},
		{"windows without a window", `{"model_type":"gemma2","num_hidden_layers":1,"num_attention_heads":4,"head_dim":8,"dtype":"float16","layer_types":["sliding_attention"]}`, 1, 1, 0, wire.Unsupported},
		{"windows that nothing lists", `{"model_type":"gemma2","num_hidden_layers":1,"num_attention_heads":4,"head_dim":8,"dtype":"float16","sliding_window":4}`, 1, 1, 0, wire.Unsupported},
		{"windows of Qwen that nothing lists", `{"model_type":"qwen2","num_hidden_layers":1,"num_attention_heads":4,"hidden_size":8,"dtype":"float16","use_sliding_window":true}`, 1, 1, 0, wire.Unsupported},
		{"a type of numbers that is not known", `{"model_type":"llama","num_hidden_layers":1,"num_attention_heads":4,"head_dim":8,"dtype":"int8"}`, 1, 1, 0, wire.Unsupported},
		{"no size of heads where it is its own", `{"model_type":"gemma","num_hidden_layers":1,"num_attention_heads":4,"hidden_size":8,"dtype":"float16"}`, 1, 1, 0, wire.Unsupported},
		{"heads that do not divide", `{"model_type":"llama","num_hidden_layers":1,"num_attention_heads":3,"hidden_size":8,"dtype":"float16"}`, 1, 1, 0, wire.Unsupported},
		{"negative heads", `{"model_type":"llama","num_hidden_layers":1,"num_attention_heads":-3,"head_dim":8,"dtype":"float16"}`, 1, 1, 0, wire.Unsupported},
		{"too many layers", `{"model_type":"llama","num_hidden_layers":1000000,"num_attention_heads":4,"head_dim":8,"dtype":"float16"}`, 1, 1, 0, wire.Malformed},
		{"more than 64 bits", `{` + llama + `}`, 1 << 40, 1 << 40, 0, wire.Malformed},
		{"no JSON", `{`, 1, 1, 0, wire.Truncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{}
			if c.config != "" {
				files["config.json"] = &fstest.MapFile{Data: []byte(c.config)}
			}
			got, err := memory.Of(limitstest.Open(t, limits.Policy{}), files, c.context, c.batch)
			if wire.ClassOf(err) != c.class || got.Bytes != c.want {
				t.Errorf("%d bytes, want %d; %v, want %v", got.Bytes, c.want, err, c.class)
			}
		})
	}
}

// A GGUF file says it in its own keys; crosscheck/hfmem.py compares the figures with hf-mem's.
func TestCachesOfGGUF(t *testing.T) {
	llama := map[string]any{"general.architecture": "llama", "llama.block_count": uint32(32), "llama.embedding_length": uint32(4096),
		"llama.attention.head_count": uint32(32), "llama.attention.head_count_kv": uint32(8)}
	with := func(pairs ...any) map[string]any {
		m := maps.Clone(llama)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name  string
		keys  map[string]any
		want  int64
		class wire.Class
	}{
		{"Llama 3 8B", llama, 1 << 30, wire.OK},
		{"heads of their own size", with("llama.attention.key_length", uint64(64), "llama.attention.value_length", uint32(64)), 1 << 29, wire.OK},
		{"heads that share nothing", with("llama.attention.head_count_kv", uint32(32)), 4 << 30, wire.OK},
		{"a number for each layer", with("llama.attention.head_count_kv", []uint32{8, 8}), 0, wire.Unsupported},
		{"values of another size", with("llama.attention.value_length", uint32(64)), 0, wire.Unsupported},
		{"windows", with("llama.attention.sliding_window", uint32(4096)), 0, wire.Unsupported},
		{"another architecture", with("general.architecture", "mamba"), 0, wire.Unsupported},
		{"no architecture", map[string]any{}, 0, wire.Unsupported},
		{"no layers", with("llama.block_count", uint32(0)), 0, wire.Unsupported},
		{"too many layers", with("llama.block_count", uint64(1<<62)), 0, wire.Malformed},
		{"negative heads", with("llama.attention.head_count", int32(-4)), 0, wire.Unsupported},
		{"more than 64 bits", with("llama.attention.head_count_kv", uint64(1<<62)), 0, wire.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := memory.OfGGUF(limitstest.Open(t, limits.Policy{}), maps.All(c.keys), 8192, 1)
			if wire.ClassOf(err) != c.class || got.Bytes != c.want {
				t.Errorf("%d bytes, want %d; %v, want %v", got.Bytes, c.want, err, c.class)
			}
		})
	}
}
