package forms_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// xlmrOfOneLayer is the file of a model two wide with eight tokens.
func xlmrOfOneLayer() []byte {
	var list []string
	from := 0
	put := func(name string, shape ...int) {
		n := 4
		for _, d := range shape {
			n *= d
		}
		list = append(list, fmt.Sprintf(`%q:{"dtype":"F32","shape":[%s],"data_offsets":[%d,%d]}`, name, strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "[]"), from, from+n))
		from += n
	}
	put("embeddings.word_embeddings.weight", 8, 2)
	put("embeddings.position_embeddings.weight", 6, 2)
	put("embeddings.token_type_embeddings.weight", 1, 2)
	for _, name := range []string{"embeddings.LayerNorm", "encoder.layer.0.attention.output.LayerNorm", "encoder.layer.0.output.LayerNorm"} {
		put(name+".weight", 2)
		put(name+".bias", 2)
	}
	for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense", "output.dense"} {
		put("encoder.layer.0."+name+".weight", 2, 2)
		put("encoder.layer.0."+name+".bias", 2)
	}
	head := "{" + strings.Join(list, ",") + "}"
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), make([]byte, from)...)
}

const (
	xlmrConfig = `{"architectures": ["XLMRobertaModel"], "vocab_size": 8, "hidden_size": 2, "intermediate_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1,
 "max_position_embeddings": 6, "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}`
	xlmrTokens = `{"normalizer": %s, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
 "added_tokens": [{"id": 5, "content": "b", "special": false, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}],
 "model": {"type": "Unigram", "unk_id": 3, "vocab": %s}}`
	precompiled = `{"type": "Precompiled", "precompiled_charsmap": "AAEC"}`
	xlmrVocab   = `[["<s>", 0], ["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["▁a", -1.5], ["b", -2], ["<mask>", 0]]`
)

// A unigram vocabulary only in tokenizer.json: numbers, scores and types as
// _xlmroberta_set_vocab of llama.cpp's converter has them.
func TestUnigramsOfTokenizerJSON(t *testing.T) {
	file := xlmrOfOneLayer()
	for _, c := range []struct {
		name, tokens string
		class        wire.Class
	}{
		{"a vocabulary", fmt.Sprintf(xlmrTokens, precompiled, xlmrVocab), wire.OK},
		{"a table that is not a base64", fmt.Sprintf(xlmrTokens, `{"type": "Precompiled", "precompiled_charsmap": "!"}`, xlmrVocab), wire.Malformed},
		{"a normalizer of another kind", fmt.Sprintf(xlmrTokens, `{"type": "NFKC"}`, xlmrVocab), wire.Unsupported},
		{"a vocabulary that is not a list", fmt.Sprintf(xlmrTokens, precompiled, `{"<s>": 9}`), wire.Malformed},
		{"a token without a text", fmt.Sprintf(xlmrTokens, precompiled, `[["", 0]]`), wire.Malformed},
		{"a score beyond float32", fmt.Sprintf(xlmrTokens, precompiled, `[["a", 1e99]]`), wire.Malformed},
		{"two tokens of one text", fmt.Sprintf(xlmrTokens, precompiled, `[["a", 1], ["a", 2]]`), wire.Malformed},
		{"merges in its place", `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`, wire.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := converttest.Account(t)
			m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			if c.class != wire.OK {
				c.tokens = strings.Replace(c.tokens, `"added_tokens": [{"id": 5, "content": "b", "special": false, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}],`, "", 1)
			}
			m.Folder = fstest.MapFS{"config.json": {Data: []byte(xlmrConfig)}, "tokenizer.json": {Data: []byte(c.tokens)}}
			to, err := forms.LlamaCPP{Name: "x"}.Model(b, m)
			if wire.ClassOf(err) != c.class || c.class != wire.OK && !strings.Contains(err.Error(), "tokenizer.json") {
				t.Fatalf("class %v, want %v: %v", wire.ClassOf(err), c.class, err)
			}
			if c.class != wire.OK {
				return
			}
			want := map[string]any{
				"tokenizer.ggml.model":                    "t5",
				"tokenizer.ggml.tokens":                   []string{"<s>", "<pad>", "</s>", "<unk>", "▁a", "b", "<mask>", "[PAD7]"},
				"tokenizer.ggml.scores":                   []float32{0, 0, 0, 0, -1.5, -2, 0, -10000},
				"tokenizer.ggml.token_type":               []int32{3, 3, 3, 2, 1, 4, 3, 5},
				"tokenizer.ggml.add_space_prefix":         true,
				"tokenizer.ggml.remove_extra_whitespaces": false,
				"tokenizer.ggml.precompiled_charsmap":     []byte{0, 1, 2},
			}
			got := map[string]any{}
			for k, v := range to.Meta() {
				if _, ok := want[k]; ok {
					got[k] = v
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
