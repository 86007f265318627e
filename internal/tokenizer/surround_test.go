package tokenizer_test

import (
	"context"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Surround returns the tokens around a text, whatever the post-processor does.
func TestSurround(t *testing.T) {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	j, err := tokenizer.ParseJSON(b, tokenizer.FileName, `{"added_tokens": [{"id": 2, "content": "<s>", "special": false, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}],
		"post_processor": {"type": "RobertaProcessing", "cls": ["b", 1], "sep": ["b", 1]}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first, last string
		want        []int32
	}{{"<s>", "", []int32{2, 0}}, {"<s>", "b", []int32{2, 0, 1}}, {"", "", []int32{0}}} {
		if err := j.Surround(b, c.first, c.last); err != nil {
			t.Fatal(err)
		}
		if got, err := j.Encode(b, "a"); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q and %q: %v %v, want %v", c.first, c.last, got, err, c.want)
		}
	}
	if err := j.Surround(b, "</s>", ""); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a token that is none: %v", err)
	}
}

// Merges of what the vocabulary has not are refused, though no text is encoded.
func TestJoins(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for merges, want := range map[string]bool{`"a b"`: true, `"a b", "x y"`: false, `"a b", "ab ab"`: false, `["a", "b"]`: true, `["a", "c"]`: false} {
		m, err := tokenizer.ParseJSON(b, tokenizer.FileName, `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [`+merges+`]}}`)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Joins(b); (err == nil) != want {
			t.Errorf("%s: %v", merges, err)
		}
	}
}
