package family

import (
	"encoding/base64"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// unigramName is the file of XLM-R's vocabulary.
const unigramName = "sentencepiece.bpe.model"

// unigramVocab adds a unigram model of sentencepiece. Its numbers are shifted as in
// fairseq, whose first four tokens are its own.
func unigramVocab(k *keys) error {
	if !k.has(unigramName) {
		return k.unigramJSON()
	}
	m, err := tokenizer.ReadSPM(k.b, k.files, unigramName)
	if err != nil {
		return err
	}
	if m.Model != 1 {
		return wire.At(unigramName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("a model that is not Unigram"))
	}
	size := max(k.c.int("vocab_size"), int64(len(m.Pieces)))
	v, err := k.newVocab(size, true)
	if err != nil {
		return err
	}
	if size < 5 || len(m.Pieces) < 3 {
		return wire.At(unigramName, "", wire.NoOffset, wire.ErrRange.Errorf("a vocabulary of %d tokens", size))
	}
	if err := k.putPieces(v, m.Pieces[3:], 4); err != nil {
		return err
	}
	for i, text := range []string{"<s>", "<pad>", "</s>", "<unk>"} {
		v.texts[i], v.scores[i], v.types[i] = text, 0, typeControl
	}
	v.types[3] = typeUnknown
	// The padding token is named by its number before the shift.
	for i := len(m.Pieces) + 1; i < len(v.texts); i++ {
		v.texts[i], v.types[i] = "[PAD"+itoa(int64(i)-1)+"]", typeUnused
	}
	k.addVocab("t5", "default", v)
	k.typeCount()
	if err := k.normalizerKeys(m); err != nil {
		return err
	}
	return k.special(nil, nil, size)
}

// normalizerKeys adds keys for what the model does to a text before it is cut.
func (k *keys) normalizerKeys(m *tokenizer.SPM) error {
	k.put("tokenizer.ggml.add_space_prefix", m.Prefix)
	k.put("tokenizer.ggml.remove_extra_whitespaces", m.Squeeze)
	if m.Charsmap == "" {
		return nil
	}
	if err := k.b.Hold(int64(len(m.Charsmap))); err != nil {
		return err
	}
	k.put("tokenizer.ggml.precompiled_charsmap", []byte(m.Charsmap))
	return nil
}

// unigramJSON adds XLM-R's vocabulary from tokenizer.json, where numbers are already those
// of the model.
func (k *keys) unigramJSON() error {
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	at := func(err error) error { return wire.At(tokenizer.FileName, "", wire.NoOffset, err) }
	normalizer := t.Rest.Get("normalizer")
	switch {
	case t.Type != "Unigram":
		return at(wire.ErrUnsupported.Errorf("a model of the type %s, expected Unigram", wire.Quote(t.Type)))
	case normalizer.Get("type").String() != "Precompiled":
		return at(wire.ErrUnsupported.Errorf("a Unigram with the normalizer %s; the converter takes only Precompiled", wire.Quote(normalizer.Get("type").String())))
	}
	charsmap := normalizer.Get("precompiled_charsmap").String()
	if err := k.b.Hold(int64(base64.StdEncoding.DecodedLen(len(charsmap)))); err != nil {
		return at(err)
	}
	table, err := base64.StdEncoding.Strict().DecodeString(charsmap)
	if err != nil {
		return at(wire.ErrSyntax.Errorf("precompiled_charsmap is not base64"))
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	v, err := k.unigrams(t, config)
	if err != nil {
		return at(err)
	}
	k.addVocab("t5", "default", v)
	k.put("tokenizer.ggml.add_space_prefix", prependsSpace(t.Rest.Get("pre_tokenizer"), config))
	k.typeCount()
	k.put("tokenizer.ggml.remove_extra_whitespaces", config.Get("clean_up_tokenization_spaces").True())
	if len(table) > 0 {
		k.put("tokenizer.ggml.precompiled_charsmap", table)
	}
	return k.special(t, nil, int64(len(v.texts)))
}

// unigrams returns the tokens of the model with their scores. Special tokens are those
// that the configuration names, else those with XLM-R's names.
func (k *keys) unigrams(t *tokenizer.JSON, config jsontree.Value) (*vocab, error) {
	v, err := k.newVocab(max(k.c.int("vocab_size"), int64(len(t.Tokens))), true)
	if err != nil {
		return nil, err
	}
	for i := range v.scores {
		v.scores[i] = -10000
	}
	for i := range t.Tokens {
		x := &t.Tokens[i]
		switch {
		case x.Text == "":
			return nil, wire.ErrText.Errorf("token %d has no text", i)
		case int(x.ID) != i:
			return nil, wire.ErrSyntax.Errorf("the vocabulary is not a list of texts and scores")
		case math.Abs(x.Score) > math.MaxFloat32:
			return nil, wire.ErrRange.Errorf("the score of token %d is not a float32", i)
		}
		if err := k.b.Step(1); err != nil {
			return nil, err
		}
		v.texts[x.ID], v.scores[x.ID], v.types[x.ID] = x.Text, float32(x.Score), typeNormal
	}
	special := specials(config)
	for name, text := range map[string]string{"bos": "<s>", "eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>", "cls": "<s>", "mask": "<mask>"} {
		if !config.Get(name + "_token").There {
			special[text] = true
		}
	}
	unknown, name := unknownOf(t, config)
	for i := range t.Added {
		a := &t.Added[i]
		if err := k.b.Step(1); err != nil {
			return nil, err
		}
		if name.IsString() && a.Text == name.String() {
			unknown = int64(a.ID)
		}
		if int(a.ID) < len(t.Tokens) {
			v.types[a.ID] = typeUserDefined
		}
	}
	for i, text := range v.texts[:len(t.Tokens)] {
		if err := k.b.Step(1); err != nil {
			return nil, err
		}
		if special[text] {
			v.types[i] = typeControl
		}
	}
	if unknown >= 0 && unknown < int64(len(t.Tokens)) {
		v.types[unknown] = typeUnknown
	}
	return v, k.pad(v)
}

// unknownOf returns the model's number of the unknown token, and the text that the
// configuration names for it.
func unknownOf(t *tokenizer.JSON, config jsontree.Value) (id int64, name jsontree.Value) {
	id, ok := t.Model.Get("unk_id").Int()
	if !ok {
		id = 3
	}
	name = config.Get("unk_token")
	if name.Get("content").IsString() {
		name = name.Get("content")
	}
	return id, name
}

// prependsSpace reports whether a space is put before a text: tokenizer_config.json decides, else
// the pre-tokenizer.
func prependsSpace(v, config jsontree.Value) bool {
	if add, ok := config.Get("add_prefix_space").Bool(); ok {
		return add
	}
	list := v.Get("pretokenizers").List()
	if list == nil && v.There {
		list = []jsontree.Value{v}
	}
	for _, one := range list {
		if one.Get("type").String() != "Metaspace" {
			continue
		}
		if scheme := one.Get("prepend_scheme"); scheme.IsString() {
			return scheme.String() != "never"
		}
		add, ok := one.Get("add_prefix_space").Bool()
		return add || !ok
	}
	return false
}
