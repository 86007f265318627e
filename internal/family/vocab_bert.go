package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// bertVocab adds a WordPiece. Pieces that begin a word get a mark, the others lose theirs.
func bertVocab(k *keys) error {
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	at := func(err error) error { return wire.At(tokenizer.FileName, "", wire.NoOffset, err) }
	pre, v, err := k.textsOf(t, "WordPiece")
	if err != nil {
		return at(err)
	}
	for i, text := range v.texts {
		if v.types[i] == typeControl {
			continue
		}
		if rest, ok := strings.CutPrefix(text, "##"); ok {
			v.texts[i] = rest
			continue
		}
		if err := k.b.Hold(int64(len(text)) + 3); err != nil {
			return err
		}
		v.texts[i] = "▁" + text
	}
	k.typeCount()
	k.addVocab("bert", pre, v)
	return k.special(t, nil, int64(len(v.texts)))
}

// typeCount adds the number of token types.
func (k *keys) typeCount() {
	n := int64(1)
	if v := k.c.get("type_vocab_size"); v.There {
		n, _ = v.Int()
	}
	if n < 0 || n > 1<<20 {
		k.fail("type_vocab_size", k.c.get("type_vocab_size"), "a number of kinds")
		return
	}
	k.put("tokenizer.ggml.token_type_count", uint32(n))
}

func robertaVocab(k *keys) error {
	err := gpt2Vocab(k)
	k.typeCount()
	return err
}

// modernbertVocab adds a BPE of bytes with tokens around a text, unless the tokenizer says
// otherwise.
func modernbertVocab(k *keys) error {
	for _, name := range []string{"bos", "eos", "sep"} {
		k.put("tokenizer.ggml.add_"+name+"_token", true)
	}
	return gpt2Vocab(k)
}
