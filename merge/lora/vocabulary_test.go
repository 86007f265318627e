package lora_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func whole(name string, seed int, shape ...int64) fixtures.Tensor {
	return fixtures.Whole(name, "F32", seed, shape...)
}

// as is the same tensor under another name.
func as(t fixtures.Tensor, name string) fixtures.Tensor { t.Name = name; return t }

const (
	inputRows  = "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta"
	outputRows = "base_model.model.lm_head.token_adapter.trainable_tokens_delta"
	inputName  = "base_model.model.model.embed_tokens.weight"
	outputName = "base_model.model.lm_head.weight"
	untied     = `{"vocab_size":6,"x":1,"tie_word_embeddings":false}`
	tied       = `{"vocab_size":6,"x":1,"tie_word_embeddings":true}`
)

// vocabularyBase has six tokens, and an output layer unless it is tied.
func vocabularyBase(config string) folder {
	f := folder{config, []fixtures.Tensor{whole("model.embed_tokens.weight", 3, 6, 4), whole("model.l.weight", 4, 5, 4)}}
	if config == untied {
		f.tensors = append(f.tensors, whole("lm_head.weight", 5, 6, 4))
	}
	return f
}

// An adapter that was trained after resize_token_embeddings brings rows of another number: the
// result has them, and vocab_size follows.
func TestVocabularyOfTheAdapter(t *testing.T) {
	in, out := whole(inputName, 7, 8, 4), whole(outputName, 8, 8, 4)
	lora := pair("model.embed_tokens", 2, 4, 8)
	for i, ending := range []string{"A", "B"} {
		lora[i].Name = "base_model.model.model.embed_tokens.lora_embedding_" + ending
	}
	for _, c := range []struct {
		name, base, adapter string
		tensors             []fixtures.Tensor
		adapted             int
	}{
		{"saved with the adapter", untied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in, out}, 0},
		{"in modules_to_save, with PEFT's further copies", untied, `{"peft_type":"LORA","r":2,"modules_to_save":["embed_tokens","lm_head"]}`, []fixtures.Tensor{in, out,
			as(in, "base_model.model.model.embed_tokens.modules_to_save.weight"), whole("base_model.model.model.embed_tokens.original_module.weight", 11, 8, 4)}, 0},
		{"tied", tied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in, as(in, outputName)}, 0},
		{"tied and saved once", tied, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in}, 0},
		{"tied in modules_to_save", tied, `{"peft_type":"LORA","r":2,"modules_to_save":["embed_tokens"],"ensure_weight_tying":true}`, []fixtures.Tensor{in, as(in, outputName)}, 0},
		{"adapted besides", tied, `{"peft_type":"LORA","r":2,"lora_alpha":2}`, append(lora, as(in, "base_model.model.model.embed_tokens.base_layer.weight")), 1},
		{"in a text_config", `{"text_config":{"vocab_size":6},"vocab_size":1,"tie_word_embeddings":true}`, `{"peft_type":"LORA","r":2}`, []fixtures.Tensor{in}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, vocabularyBase(c.base), folder{c.adapter, c.tensors})
			if err != nil {
				t.Fatal(err)
			}
			got := numbers(t, m, "model.embed_tokens.weight")
			if len(got) != 32 || c.adapted == 0 && !cmp.Equal(in.Values, got) || m.Adapted != c.adapted || m.Vocabulary != 8 {
				t.Errorf("%v, %d adapted, a vocabulary of %d", got, m.Adapted, m.Vocabulary)
			}
			if c.base == untied {
				if diff := cmp.Diff(out.Values, numbers(t, m, "lm_head.weight")); diff != "" {
					t.Errorf("want -, got +:\n%s", diff)
				}
			}
			text, err := fs.ReadFile(m.Configs(), "config.json")
			if want := strings.Replace(c.base, `"vocab_size":6`, `"vocab_size":8`, 1); string(text) != want || err != nil {
				t.Errorf("config.json is %s (%v), want %s", text, err, want)
			}
		})
	}
}

// Rows of tokens that were trained one by one replace those of the base, whatever range is read.
func TestTrainedTokensReplaceRows(t *testing.T) {
	rows, other := whole(inputRows, 7, 3, 4), whole(outputRows, 9, 2, 4)
	for _, c := range []struct {
		name, base, adapter string
		tensors             []fixtures.Tensor
		input, output       []int // tokens
	}{
		{"a list", untied, `[5,0,3]`, []fixtures.Tensor{rows}, []int{5, 0, 3}, nil},
		{"tied", tied, `[5,0,3]`, []fixtures.Tensor{rows}, []int{5, 0, 3}, nil},
		{"two modules", untied, `{"embed_tokens":[5,0,3],"lm_head":[1,2]}`, []fixtures.Tensor{rows, other}, []int{5, 0, 3}, []int{1, 2}},
		{"two tied modules", tied, `{"embed_tokens":[5,0,3],"lm_head":[5,0,3]}`, []fixtures.Tensor{rows}, []int{5, 0, 3}, nil},
		{"two copies", tied, `[5,0,3]`, []fixtures.Tensor{rows, as(rows, outputRows)}, []int{5, 0, 3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := vocabularyBase(c.base)
			m, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2,"trainable_token_indices":` + c.adapter + `}`, c.tensors})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range []struct {
				in     fixtures.Tensor
				tokens []int
				rows   fixtures.Tensor
			}{{base.tensors[0], c.input, rows}, {base.tensors[len(base.tensors)-1], c.output, other}} {
				want := append([]float32(nil), one.in.Values...)
				for k, token := range one.tokens {
					copy(want[4*token:4*token+4], one.rows.Values[4*k:])
				}
				if diff := cmp.Diff(want, numbers(t, m, one.in.Name)); diff != "" {
					t.Errorf("%s: want -, got +:\n%s", one.in.Name, diff)
				}
			}
		})
	}
}

// What PEFT does not do, or fills with random numbers, is refused.
func TestVocabulariesThatAreRefused(t *testing.T) {
	in, rows := whole(inputName, 7, 8, 4), whole(inputRows, 7, 3, 4)
	for _, c := range []struct {
		name, base, adapter string
		tensors             []fixtures.Tensor
		class               wire.Class
		says                string
	}{
		{"no rows for the output layer", untied, `{"peft_type":"LORA"}`, []fixtures.Tensor{in}, wire.Malformed, "resize_token_embeddings"},
		{"two sizes", untied, `{"peft_type":"LORA"}`, []fixtures.Tensor{in, whole(outputName, 8, 9, 4)}, wire.Malformed, "rows instead of"},
		{"other columns", untied, `{"peft_type":"LORA"}`, []fixtures.Tensor{whole(inputName, 8, 8, 5)}, wire.Malformed, "[8 5]"},
		{"a tied copy that differs", tied, `{"peft_type":"LORA"}`, []fixtures.Tensor{in, whole(outputName, 8, 8, 4)}, wire.Malformed, "copy"},
		{"a tied copy alone", tied, `{"peft_type":"LORA"}`, []fixtures.Tensor{whole(outputName, 8, 8, 4)}, wire.Malformed, "copy"},
		{"one of two tied modules", tied, `{"peft_type":"LORA","modules_to_save":["embed_tokens"]}`, []fixtures.Tensor{in}, wire.Unsupported, "ensure_weight_tying"},
		{"a vocabulary that the configuration does not have", `{"vocab_size":5,"tie_word_embeddings":true}`, `{"peft_type":"LORA"}`, []fixtures.Tensor{in}, wire.Malformed, "vocab_size"},
		{"a token beyond the embedding", tied, `{"peft_type":"LORA","trainable_token_indices":[1,6,2]}`, []fixtures.Tensor{rows}, wire.Malformed, "token 6"},
		{"a token twice", tied, `{"peft_type":"LORA","trainable_token_indices":[1,2,1]}`, []fixtures.Tensor{rows}, wire.Malformed, "token 1"},
		{"a token from the end", tied, `{"peft_type":"LORA","trainable_token_indices":[1,-1,2]}`, []fixtures.Tensor{rows}, wire.Malformed, "at least 0"},
		{"no list", tied, `{"peft_type":"LORA","trainable_token_indices":true}`, []fixtures.Tensor{rows}, wire.Malformed, "list"},
		{"too few rows", tied, `{"peft_type":"LORA","trainable_token_indices":[1,2]}`, []fixtures.Tensor{rows}, wire.Malformed, "[3 4]"},
		{"no rows", tied, `{"peft_type":"LORA","r":2,"trainable_token_indices":[1,2]}`, pair("model.l", 2, 5, 4), wire.Malformed, "no rows"},
		{"rows that nothing names", tied, `{"peft_type":"LORA","trainable_token_indices":{"x":[1,2,3]}}`, []fixtures.Tensor{rows}, wire.Malformed, "does not name"},
		{"other rows of a tied output layer", tied, `{"peft_type":"LORA","trainable_token_indices":{"embed_tokens":[1,2,3],"lm_head":[1,2,4]}}`, []fixtures.Tensor{rows, as(rows, outputRows)}, wire.Unsupported, "ties"},
		{"rows of a tied output layer that differ", tied, `{"peft_type":"LORA","trainable_token_indices":[1,2,3]}`, []fixtures.Tensor{rows, whole(outputRows, 9, 3, 4)}, wire.Malformed, "copy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, vocabularyBase(c.base), folder{c.adapter, c.tensors})
			if err == nil {
				err = readAll(m)
			}
			if wire.ClassOf(err) != c.class || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v: %v, want %v that says %q", wire.ClassOf(err), err, c.class, c.says)
			}
		})
	}
}

// The prefix that transformers gives the names of the model inside is none of the output layer,
// which stands beside it: one that a tied base stores is found, and one that is adapted too.
func TestTheOutputLayerHasNoPrefix(t *testing.T) {
	inner := as(whole(inputName, 7, 6, 4), "base_model.model.embed_tokens.weight")
	base := vocabularyBase(tied)
	base.tensors = append(base.tensors, whole("lm_head.weight", 5, 6, 4))
	_, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2}`, []fixtures.Tensor{inner}})
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "lm_head.weight") {
		t.Errorf("a tied base that stores its output layer: %v", err)
	}
	m, _, err := merge(t, vocabularyBase(untied), folder{`{"peft_type":"LORA","r":2,"lora_alpha":2}`, append(pair("l", 2, 5, 4), pair("lm_head", 2, 6, 4)...)})
	if err != nil || m.Adapted != 2 {
		t.Fatalf("%v", err)
	}
}
