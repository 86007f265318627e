package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// bertVocab is a WordPiece: pieces that begin a word get a mark, the others lose
// theirs.
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

// typeCount is how many kinds of text the model tells apart.
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

// modernbertVocab puts tokens around a text, where the tokenizer does not say
// otherwise.
func modernbertVocab(k *keys) error {
	for _, name := range []string{"bos", "eos", "sep"} {
		k.put("tokenizer.ggml.add_"+name+"_token", true)
	}
	return gpt2Vocab(k)
}

// unigramName is the file of XLM-R's vocabulary.
const unigramName = "sentencepiece.bpe.model"

// unigramVocab is a unigram model of sentencepiece's, its numbers shifted as fairseq
// has them: the first four are its own.
func unigramVocab(k *keys) error {
	if !k.has(unigramName) {
		return wire.At(unigramName, "", wire.NoOffset, wire.ErrUnsupported.With("a vocabulary of unigrams without it is not read"))
	}
	m, err := tokenizer.ReadSPM(k.b, k.files, unigramName)
	if err != nil {
		return err
	}
	if m.Model != 1 {
		return wire.At(unigramName, "", wire.NoOffset, wire.ErrUnsupported.With("a model that is none of unigrams"))
	}
	size := max(k.c.int("vocab_size"), int64(len(m.Pieces)))
	v, err := k.newVocab(size, true)
	if err != nil {
		return err
	}
	if size < 5 || len(m.Pieces) < 3 {
		return wire.At(unigramName, "", wire.NoOffset, wire.ErrRange.With("a vocabulary of %d tokens", size))
	}
	for i := range v.scores {
		v.scores[i] = -10000
	}
	for i, p := range m.Pieces[3:] {
		if int64(i)+4 >= size {
			break
		}
		if err := k.b.Step(1); err != nil {
			return err
		}
		v.texts[i+4], v.scores[i+4], v.types[i+4] = p.Text, p.Score, int32(p.Type)
		if p.Type == tokenizer.UserDefined {
			v.types[i+4] = typeNormal
		}
	}
	for i, text := range []string{"<s>", "<pad>", "</s>", "<unk>"} {
		v.texts[i], v.scores[i], v.types[i] = text, 0, typeControl
	}
	v.types[3] = typeUnknown
	// What pads is named by its number before the shift.
	for i := len(m.Pieces) + 1; i < len(v.texts); i++ {
		v.texts[i], v.types[i] = "[PAD"+itoa(int64(i)-1)+"]", typeUnused
	}
	k.addVocab("t5", "default", v)
	k.put("tokenizer.ggml.add_space_prefix", m.Prefix)
	k.typeCount()
	k.put("tokenizer.ggml.remove_extra_whitespaces", m.Squeeze)
	if m.Charsmap != "" {
		if err := k.b.Hold(int64(len(m.Charsmap))); err != nil {
			return err
		}
		k.put("tokenizer.ggml.precompiled_charsmap", []byte(m.Charsmap))
	}
	return k.special(nil, nil, size)
}
