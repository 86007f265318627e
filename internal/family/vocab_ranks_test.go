package family

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// vocabularyOf gives the keys of a folder's vocabulary, read as a row does.
func vocabularyOf(t *testing.T, read func(*keys) error, o Options, size int, files fstest.MapFS) (map[string]any, error) {
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	r := &row{names: []string{"X"}, defaults: []preset{{"vocab_size", fmt.Sprint(size)}}}
	k := newTestKeys(b, r, files)
	k.o = o
	err := read(k)
	if err == nil {
		err = k.err
	}
	got := map[string]any{}
	for _, key := range k.list {
		got[key.Key] = key.Value
	}
	return got, err
}

func newTestKeys(b *limits.Budget, r *row, files fstest.MapFS) *keys {
	return &keys{b: b, files: files, c: &config{row: r, text: jsontree.Object(), root: jsontree.Object()}}
}

// tekkenOf is tekken.json of all bytes and "ab", with four special tokens named of six.
func tekkenOf(version string) fstest.MapFS {
	var list []string
	for i := range 257 {
		text := []byte{byte(i)}
		if i == 256 {
			text = []byte("ab")
		}
		list = append(list, fmt.Sprintf(`{"rank": %d, "token_bytes": %q, "token_str": null}`, i, base64.StdEncoding.EncodeToString(text)))
	}
	return fstest.MapFS{"tekken.json": {Data: fmt.Appendf(nil, `{"config": {"pattern": ".", "version": %q, "default_vocab_size": 263, "default_num_special_tokens": 6},
		"vocab": [%s], "special_tokens": [{"rank": 0, "token_str": "<unk>"}, {"rank": 1, "token_str": "<s>"}, {"rank": 2, "token_str": "</s>"}, {"rank": 3, "token_str": "<pad>"}]}`, version, strings.Join(list, ","))},
		"tokenizer_config.json": {Data: []byte(`{"add_prefix_space": true, "chat_template": "not this one"}`)}}
}

// The output of _set_vocab_mistral of llama.cpp's converter, which crosscheck/tokens.py compares
// byte for byte. This test checks that tokenizer_config.json is ignored.
func TestTekkenVocabulary(t *testing.T) {
	ledger.Charges(t)
	got, err := vocabularyOf(t, llamaVocab, Options{}, 263, tekkenOf("v7"))
	if err != nil {
		t.Fatal(err)
	}
	texts, _ := got["tokenizer.ggml.tokens"].([]string)
	if len(texts) != 263 || texts[5] != "<SPECIAL_5>" || texts[6+' '] != "Ġ" || texts[262] != "ab" {
		t.Errorf("tokens %q", texts)
	}
	types, _ := got["tokenizer.ggml.token_type"].([]int32)
	if len(types) != 263 || types[5] != typeControl || types[6] != typeNormal {
		t.Errorf("types %v", types)
	}
	for _, key := range []string{"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"} {
		delete(got, key)
	}
	sameKeys(t, got, map[string]any{
		"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "tekken", "tokenizer.ggml.scores": make([]int32, 263), "tokenizer.ggml.merges": []string{"a b"},
		"tokenizer.ggml.bos_token_id": uint32(1), "tokenizer.ggml.eos_token_id": uint32(2), "tokenizer.ggml.unknown_token_id": uint32(0), "tokenizer.ggml.padding_token_id": uint32(3),
		"tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.add_eos_token": false, "tokenizer.chat_template": "mistral-v7-tekken",
	})
	for _, c := range []struct {
		name  string
		o     Options
		size  int
		files fstest.MapFS
		class wire.Class
	}{
		{"a version whose template is a text", Options{}, 263, tekkenOf("v11"), wire.Unsupported},
		{"the same, and the caller has one", Options{Template: true}, 263, tekkenOf("v11"), wire.OK},
		{"another number of tokens", Options{}, 264, tekkenOf("v3"), wire.Malformed},
		{"no JSON", Options{}, 263, fstest.MapFS{"tekken.json": {Data: []byte("IQ== 0\n")}}, wire.Malformed},
		{"no special token that pads", Options{}, 263, fstest.MapFS{"tekken.json": {Data: []byte(strings.Replace(string(tekkenOf("v3")["tekken.json"].Data), "<pad>", "<pax>", 1))}}, wire.Malformed},
	} {
		got, err := vocabularyOf(t, llamaVocab, c.o, c.size, c.files)
		if _, there := got["tokenizer.chat_template"]; wire.ClassOf(err) != c.class || there {
			t.Errorf("%s: %v, a template: %v", c.name, err, there)
		}
	}
}

// The output of DeepseekV2Model.set_vocab of llama.cpp's converter for Kimi's folders.
func TestKimiVocabulary(t *testing.T) {
	ledger.Charges(t)
	files := fstest.MapFS{"tiktoken.model": {Data: []byte("YQ== 0\nYg== 1\nYWI= 2\n")}, "tokenizer_config.json": {Data: []byte(
		`{"added_tokens_decoder": {"1": {"content": "no"}, "4": {"content": "[EOS]"}}, "eos_token": "[EOS]", "add_bos_token": false, "chat_template": "x"}`)}}
	got, err := vocabularyOf(t, deepseekVocab, Options{Pre: "kimi-k2"}, 6, files)
	if err != nil {
		t.Fatal(err)
	}
	sameKeys(t, got, map[string]any{
		"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "kimi-k2", "tokenizer.ggml.tokens": []string{"a", "b", "ab", "<|reserved_token_3|>", "[EOS]", "<|reserved_token_5|>"},
		"tokenizer.ggml.token_type": []int32{1, 1, 1, 3, 3, 3}, "tokenizer.ggml.merges": []string{"a b"}, "tokenizer.ggml.add_bos_token": false, "tokenizer.chat_template": "x",
	})
	for _, c := range []struct {
		name, pre string
		size      int
		class     wire.Class
	}{
		{"a probe that no byte is for", "", 6, wire.Malformed},
		{"another pre-tokenizer", "qwen2", 6, wire.Unsupported},
		{"fewer tokens than the file has", "kimi-k2", 2, wire.Malformed},
		{"more than have a purpose", "kimi-k2", 3 + 257, wire.Malformed},
	} {
		if _, err := vocabularyOf(t, deepseekVocab, Options{Pre: c.pre}, c.size, files); wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := vocabularyOf(t, llamaVocab, Options{}, 6, files); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("Kimi's file in another family: %v", err)
	}
}

// sameKeys compares a vocabulary's keys with those that are wanted.
func sameKeys(t *testing.T, got, want map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
