package family

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// spmOf is a sentencepiece model of a kind with pieces, in protobuf.
func spmOf(kind byte, pieces ...string) string {
	var s strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&s, "\x0a%c\x0a%c%s", 2+len(p), len(p), p)
	}
	return s.String() + "\x12\x02\x18" + string(rune(kind))
}

// filesOf is a folder of texts: names and contents by turns.
func filesOf(list ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for i := 0; i < len(list); i += 2 {
		all[list[i]] = &fstest.MapFile{Data: []byte(list[i+1])}
	}
	return all
}

// Vocabularies that llama.cpp would read otherwise, or not at all, are refused, and beside each the
// nearest that is not.
func TestVocabulariesThatAreRefused(t *testing.T) {
	ledger.Charges(t)
	bpe := func(vocab, added, decoder string) string {
		return `{"added_tokens": [` + added + `], "decoder": ` + decoder + `, "model": {"type": "BPE", "vocab": {` + vocab + `}, "merges": []}}`
	}
	added := func(text string, id int) string {
		return fmt.Sprintf(`{"id": %d, "content": %q, "special": false, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}`, id, text)
	}
	unigram := func(normalizer, vocab string) string {
		return `{"normalizer": ` + normalizer + `, "model": {"type": "Unigram", "vocab": [` + vocab + `]}}`
	}
	const precompiled, bytes = `{"type": "Precompiled", "precompiled_charsmap": "AAAA"}`, `{"type": "ByteLevel"}`
	three := `["<s>", 0], ["a", -1], ["b", -2]`
	for name, c := range map[string]struct {
		read  func(*keys) error
		size  int
		files fstest.MapFS
		class wire.Class
	}{
		"a BPE":                                 {gpt2Vocab, 3, filesOf("tokenizer.json", bpe(`"a": 0, "b": 1`, added("c", 2), bytes)), wire.OK},
		"a BPE with more tokens than stated":    {gpt2Vocab, 2, filesOf("tokenizer.json", bpe(`"a": 0, "b": 1`, added("c", 2), bytes)), wire.Malformed},
		"two tokens of one number":              {gpt2Vocab, 3, filesOf("tokenizer.json", bpe(`"a": 0, "b": 0`, "", bytes)), wire.Malformed},
		"two equal tokens":                      {gpt2Vocab, 4, filesOf("tokenizer.json", bpe(`"a": 0, "[PAD2]": 1`, "", bytes)), wire.Malformed},
		"a space with a decoder of characters":  {gpt2Vocab, 3, filesOf("tokenizer.json", bpe(`"a": 0, "b": 1`, added("c d", 2), `{"type": "Fuse"}`)), wire.Unsupported},
		"another kind of model":                 {gpt2Vocab, 3, filesOf("tokenizer.json", unigram(precompiled, three)), wire.Unsupported},
		"no tokens at all":                      {gpt2Vocab, 0, filesOf("tokenizer.json", bpe(``, "", bytes)), wire.Malformed},
		"more tokens than a vocabulary has":     {gpt2Vocab, 1 << 30, filesOf("tokenizer.json", bpe(`"a": 0`, "", bytes)), wire.Malformed},
		"sentencepiece":                         {spmVocab, 2, filesOf("tokenizer.model", spmOf(2, "a", "b")), wire.OK},
		"a unigram of sentencepiece for a BPE":  {spmVocab, 2, filesOf("tokenizer.model", spmOf(1, "a", "b")), wire.Unsupported},
		"an added token beside it":              {spmVocab, 3, filesOf("tokenizer.model", spmOf(2, "a", "b"), "added_tokens.json", `{"c": 2}`), wire.OK},
		"an added token without a number":       {spmVocab, 3, filesOf("tokenizer.model", spmOf(2, "a", "b"), "added_tokens.json", `{"c": "2"}`), wire.Malformed},
		"an added token below nothing":          {spmVocab, 3, filesOf("tokenizer.model", spmOf(2, "a", "b"), "added_tokens.json", `{"c": -1}`), wire.Malformed},
		"an added token of the configuration":   {spmVocab, 3, filesOf("tokenizer.model", spmOf(2, "a", "b"), "tokenizer_config.json", `{"added_tokens_decoder": {"2": {"content": "c"}}}`), wire.OK},
		"an added token under a name":           {spmVocab, 3, filesOf("tokenizer.model", spmOf(2, "a", "b"), "tokenizer_config.json", `{"added_tokens_decoder": {"x": {"content": "c"}}}`), wire.Malformed},
		"an added token without text":           {spmVocab, 3, filesOf("tokenizer.model", spmOf(2, "a", "b"), "tokenizer_config.json", `{"added_tokens_decoder": {"2": {"content": ""}}}`), wire.Malformed},
		"a unigram for T5":                      {t5Vocab, 2, filesOf("tokenizer.model", spmOf(1, "a", "b")), wire.OK},
		"a unigram of more pieces than stated":  {t5Vocab, 1, filesOf("tokenizer.model", spmOf(1, "a", "b")), wire.Malformed},
		"a model of words for T5":               {t5Vocab, 2, filesOf("tokenizer.model", spmOf(3, "a", "b")), wire.Unsupported},
		"a unigram of fairseq":                  {unigramVocab, 5, filesOf(unigramName, spmOf(1, "<unk>", "<s>", "</s>", "a")), wire.OK},
		"a BPE for fairseq":                     {unigramVocab, 5, filesOf(unigramName, spmOf(2, "<unk>", "<s>", "</s>", "a")), wire.Unsupported},
		"two pieces for fairseq":                {unigramVocab, 5, filesOf(unigramName, spmOf(1, "<unk>", "<s>")), wire.Malformed},
		"four tokens for fairseq":               {unigramVocab, 4, filesOf(unigramName, spmOf(1, "<unk>", "<s>", "</s>")), wire.Malformed},
		"a unigram of tokenizer.json":           {unigramVocab, 3, filesOf("tokenizer.json", unigram(precompiled, three)), wire.OK},
		"a BPE of tokenizer.json for a unigram": {unigramVocab, 3, filesOf("tokenizer.json", bpe(`"a": 0`, "", bytes)), wire.Unsupported},
		"another normalizer of a unigram":       {unigramVocab, 3, filesOf("tokenizer.json", unigram(`{"type": "NFKC"}`, three)), wire.Unsupported},
		"a map of characters that is no base64": {unigramVocab, 3, filesOf("tokenizer.json", unigram(`{"type": "Precompiled", "precompiled_charsmap": "AAA"}`, three)), wire.Malformed},
		"a piece of a unigram without text":     {unigramVocab, 3, filesOf("tokenizer.json", unigram(precompiled, `["", 0], ["a", -1], ["b", -2]`)), wire.Malformed},
		"a score that no float32 holds":         {unigramVocab, 3, filesOf("tokenizer.json", unigram(precompiled, `["a", 0], ["b", 1e300], ["c", -2]`)), wire.Malformed},
		"the pieces of a unigram under numbers": {unigramVocab, 3, filesOf("tokenizer.json", `{"normalizer": `+precompiled+`, "model": {"type": "Unigram", "vocab": {"a": 1, "b": 0}}}`), wire.Malformed},
	} {
		_, err := vocabularyOf(t, c.read, Options{Pre: "gpt-2"}, c.size, c.files)
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v, want %v", name, err, c.class)
		}
	}
}
