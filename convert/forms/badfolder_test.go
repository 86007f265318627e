package forms_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

const badBPE = `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [%s]}, "normalizer": %s, "pre_tokenizer": %s, "decoder": {"type": "ByteLevel"}}`

// A hostile vocabulary or configuration beside valid weights is refused with its class and the name
// of the file, before a tensor is planned.
func TestHostileFoldersAreRefused(t *testing.T) {
	plain := func(merges, normalizer, pre string) string { return fmt.Sprintf(badBPE, merges, normalizer, pre) }
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	varint := "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
	for _, c := range []struct {
		name, file, text, place string
		class                   wire.Class
	}{
		{"arrays in arrays without end", "tokenizer.json", deep("[", "", "]", 100_000), "tokenizer.json", wire.Malformed},
		{"a member that is nested without end", "tokenizer.json", `{"x": ` + deep("[", "1", "]", 5_000) + `}`, "tokenizer.json", wire.Limit},
		{"normalizers in normalizers", "tokenizer.json",
			plain(`"a b"`, deep(`{"type": "Sequence", "normalizers": [`, `{"type": "NFC"}`, "]}", 40), "null"), "tokenizer.json", wire.Unsupported},
		{"pre-tokenizers in pre-tokenizers", "tokenizer.json",
			plain(`"a b"`, "null", deep(`{"type": "Sequence", "pretokenizers": [`, `{"type": "ByteLevel"}`, "]}", 40)), "tokenizer.json", wire.Unsupported},
		{"an expression that is longer than one may be", "tokenizer.json",
			plain(`"a b"`, "null", `{"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "`+strings.Repeat("a?", 4000)+`"}}`), "tokenizer.json", wire.Unsupported},
		{"a merge of texts that no token is", "tokenizer.json", plain(`"a zz"`, "null", "null"), "tokenizer.json", wire.Malformed},
		{"a merge of three texts", "tokenizer.json", plain(`["a", "b", "a"]`, "null", "null"), "tokenizer.json", wire.Malformed},
		{"a token with a number beyond all vocabularies", "tokenizer.json", `{"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}}`, "tokenizer.json", wire.Malformed},
		{"an added token with another number than it has", "tokenizer.json",
			`{"added_tokens": [{"id": 9, "content": "a", "special": false, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`, "tokenizer.json", wire.Malformed},
		{"a piece of sentencepiece's that ends nowhere", "tokenizer.model", "\x0a" + varint, "tokenizer.model", wire.Truncated},
		{"a piece without a text", "tokenizer.model", "\x0a\x02\x0a\x00", "tokenizer.model", wire.Malformed},
		{"a group of protobuf's", "tokenizer.model", "\x0b\x0c", "tokenizer.model", wire.Malformed},
		{"a configuration that is not an object", "config.json", `[]`, "config.json", wire.Unsupported},
		{"a vocabulary of thousands of millions", "config.json", strings.Replace(converttest.LlamaConfig, `"vocab_size": 3`, `"vocab_size": 4000000000`, 1), "config.json", wire.Malformed},
		{"a width less than nothing", "config.json", strings.Replace(converttest.LlamaConfig, `"intermediate_size": 6`, `"intermediate_size": -6`, 1), "config.json", wire.Malformed},
		{"more heads than a model has", "config.json", strings.Replace(converttest.LlamaConfig, `"num_attention_heads": 2`, `"num_attention_heads": 70000`, 1), "config.json", wire.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := converttest.Account(t)
			m := converttest.LlamaOfOneLayer(t, b, converttest.LlamaConfig, "").(*safetensors.File)
			m.Folder.(fstest.MapFS)[c.file] = &fstest.MapFile{Data: []byte(c.text)}
			to, err := forms.LlamaCPP{Name: "x"}.Model(b, m)
			if err == nil {
				t.Fatalf("it is accepted: %d tensors", to.Len())
			}
			if wire.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.place) {
				t.Errorf("class %v, want %v of %s: %.300v", wire.ClassOf(err), c.class, c.place, err)
			}
		})
	}
}

// A vocabulary with the largest number of tokens that a file may state ends at the account's limit.
func TestVocabulariesAreCharged(t *testing.T) {
	var s strings.Builder
	s.WriteString(`{"model": {"type": "BPE", "merges": [], "vocab": {`)
	for i := range 200_000 {
		if i > 0 {
			s.WriteString(",")
		}
		fmt.Fprintf(&s, `"t%d":%d`, i, i)
	}
	s.WriteString("}}}")
	for _, p := range []limits.Policy{{MaxItems: 100_000}, {MaxTotalBytes: 8 << 20}} {
		p.Timeout = limits.NoTimeout
		b := p.Budget(t.Context())
		m := converttest.LlamaOfOneLayer(t, b, converttest.LlamaConfig, "").(*safetensors.File)
		m.Folder.(fstest.MapFS)["tokenizer.json"] = &fstest.MapFile{Data: []byte(s.String())}
		_, err := forms.LlamaCPP{Pre: "default"}.Model(b, m)
		if wire.ClassOf(err) != wire.Limit || !strings.Contains(err.Error(), "tokenizer.json") {
			t.Errorf("%+v: %v", p, err)
		}
		b.Close()
	}
}

// Heads whose parts have the rows of the tensor in total, but not the right rows each.
func TestPartsLieWithinTheirTensor(t *testing.T) {
	b := converttest.Account(t)
	config := `{"architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 1, "vocab_size": 2, "intermediate_size": 2,
		"kv_lora_rank": 2, "qk_rope_head_dim": 2, "qk_nope_head_dim": %d, "v_head_dim": %d, "first_k_dense_replace": 1}`
	body := `{"model.layers.0.self_attn.kv_b_proj.weight":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]}}`
	file := append([]byte{byte(len(body)), 0, 0, 0, 0, 0, 0, 0}, body...)
	for nope, value := range map[int]int{0: 4, 4: 0, -4: 8, 8: -4} {
		m, err := safetensors.Decode(b, bytes.NewReader(append(file, make([]byte, 32)...)), int64(len(file))+32)
		if err != nil {
			t.Fatal(err)
		}
		m.Folder = fstest.MapFS{"config.json": {Data: fmt.Appendf(nil, config, nope, value)}}
		_, err = forms.LlamaCPP{Pre: "default"}.Model(b, m)
		if wire.ClassOf(err) != wire.Malformed || strings.Contains(err.Error(), "there is no tensor") {
			t.Errorf("%d and %d: %v", nope, value, err)
		}
	}
}

// Two tensors that become one of llama.cpp are refused, both named.
func TestNamesThatCollideAreRefused(t *testing.T) {
	b := converttest.Account(t)
	body := `{"bert.embeddings.LayerNorm.gamma":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"embeddings.LayerNorm.weight":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`
	file := append([]byte{byte(len(body)), 0, 0, 0, 0, 0, 0, 0}, body...)
	m, err := safetensors.Decode(b, bytes.NewReader(append(file, make([]byte, 16)...)), int64(len(file))+16)
	if err != nil {
		t.Fatal(err)
	}
	m.Folder = fstest.MapFS{"config.json": {Data: []byte(`{"architectures": ["BertModel"], "hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 1, "intermediate_size": 2, "vocab_size": 2}`)}}
	_, err = forms.LlamaCPP{Pre: "default"}.Model(b, m)
	if wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), "token_embd_norm.weight") {
		t.Error(err)
	}
}
