package family

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// tokenizers ranks a merge by its last place and llama.cpp by its first: "a b" before "b c" in one
// and after it in the other.
func TestAMergeIsListedOnce(t *testing.T) {
	for merges, want := range map[string]wire.Class{
		`"a b", "b c"`:                        wire.OK,
		`"a b", "b c", "a b"`:                 wire.Malformed,
		`"a b", ["b", "c"], ["a", "b"]`:       wire.Malformed,
		`["a", "b"], ["a", "bc"], ["b", "c"]`: wire.OK,
	} {
		files := fstest.MapFS{"tokenizer.json": {Data: []byte(fmt.Sprintf(
			`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}, "merges": [%s]}}`, merges))}}
		_, err := vocabularyOf(t, gpt2Vocab, Options{Pre: "gpt-2"}, 6, files)
		if wire.ClassOf(err) != want {
			t.Errorf("%s: %v", merges, err)
		}
	}
}
