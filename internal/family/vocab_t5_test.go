package family

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// t5Pieces is a sentencepiece model of unigrams: <unk>, a control, "▁a", a piece that a
// user defined, "b"; no space before a text, and two bytes of a charsmap.
const t5Pieces = "\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02" +
	"\x0a\x0d\x0a\x04</s>\x15\x00\x00\x00\x00\x18\x03" +
	"\x0a\x0b\x0a\x04▁a\x15\x00\x00\x80\xbf" +
	"\x0a\x0a\x0a\x01u\x15\x00\x00\x00\x00\x18\x04" +
	"\x0a\x08\x0a\x01b\x15\x00\x00\x00\xc0"

func t5Model(kind string) []byte {
	return []byte(t5Pieces + "\x12\x02\x18" + kind + "\x1a\x06\x12\x02\x07\x08\x18\x00")
}

// The tokens of T5 as T5Model.set_vocab in llama.cpp's t5.py has them: a piece that a
// user defined is normal, what pads has the lowest score, tokens beside the model stand
// in added_tokens.json alone.
func TestVocabularyOfT5(t *testing.T) {
	added := []byte(`{"<x>": 6}`)
	decoder := []byte(`{"added_tokens_decoder": {"4": {"content": "no"}}}`)
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		size  string
		class wire.Class
	}{
		{"a newer folder", fstest.MapFS{"tokenizer.model": {Data: t5Model("\x01")}, "added_tokens.json": {Data: added}, "tokenizer_config.json": {Data: decoder}}, "7", wire.OK},
		{"an older folder", fstest.MapFS{"spiece.model": {Data: t5Model("\x01")}, "added_tokens.json": {Data: added}, "tokenizer_config.json": {Data: decoder}}, "7", wire.OK},
		{"no vocabulary", fstest.MapFS{"tokenizer.json": {Data: added}}, "7", wire.Malformed},
		{"a BPE under the older name", fstest.MapFS{"spiece.model": {Data: t5Model("\x02")}}, "7", wire.Unsupported},
		{"more pieces than tokens", fstest.MapFS{"spiece.model": {Data: t5Model("\x01")}}, "4", wire.Malformed},
	} {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		k := &keys{b: b, files: c.files, c: &config{row: &row{defaults: []preset{{"vocab_size", c.size}}}, text: jsontree.Object(), root: jsontree.Object()}}
		if err := t5Vocab(k); wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.class != wire.OK {
			continue
		}
		got := map[string]any{}
		for _, key := range k.list {
			got[key.Key] = key.Value
		}
		want := map[string]any{
			"tokenizer.ggml.model": "t5", "tokenizer.ggml.pre": "default",
			"tokenizer.ggml.tokens":                   []string{"<unk>", "</s>", "▁a", "u", "b", "[PAD5]", "<x>"},
			"tokenizer.ggml.scores":                   []float32{0, 0, -1, 0, -2, -10000, -1000},
			"tokenizer.ggml.token_type":               []int32{2, 3, 1, 1, 1, 5, 4},
			"tokenizer.ggml.add_space_prefix":         false,
			"tokenizer.ggml.remove_extra_whitespaces": true,
			"tokenizer.ggml.precompiled_charsmap":     []byte("\x07\x08"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
