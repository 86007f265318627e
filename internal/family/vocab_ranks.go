package family

import (
	"io/fs"
	"slices"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// isTekken reports a folder whose vocabulary is only in Mistral's tekken.json.
func (k *keys) isTekken() bool { return k.has(tokenizer.TekkenName) && !k.has(tokenizer.FileName) }

// communityTemplates are the names that the converter writes as the chat template of a
// version; llama.cpp has these templates built in.
var communityTemplates = map[string]string{"v1": "mistral-v1", "v3": "mistral-v3-tekken", "v7": "mistral-v7-tekken"}

// tekken adds the vocabulary of tekken.json; _set_vocab_mistral in base.py. Merges are
// every way to cut a token in two.
func (k *keys) tekken() error {
	t, err := tokenizer.ReadTekken(k.b, k.files, tokenizer.TekkenName)
	if err != nil {
		return err
	}
	at := func(err error) error { return wire.At(tokenizer.TekkenName, "", wire.NoOffset, err) }
	size := len(t.Special) + len(t.Tokens)
	if n := k.c.int("vocab_size"); n != int64(size) {
		return at(wire.ErrMismatch.Errorf("it has %d tokens, but the configuration states %d", size, n))
	}
	template, ok := communityTemplates[t.Version]
	if !ok && !k.o.Template {
		return at(wire.ErrUnsupported.Errorf("version %s, for which the converter writes a chat template that a community keeps; the key tokenizer.chat_template says which (%s)", wire.Quote(t.Version), wire.OptionMeta))
	}
	v, err := k.newVocab(int64(size), false)
	if err != nil {
		return err
	}
	texts, err := t.Texts(k.b)
	if err != nil {
		return at(err)
	}
	copy(v.texts, t.Special)
	copy(v.texts[len(t.Special):], texts)
	for i := range v.types {
		v.types[i] = typeNormal
		if i < len(t.Special) {
			v.types[i] = typeControl
		}
	}
	merges, err := t.Splits(k.b)
	if err != nil {
		return at(err)
	}
	scores, err := limits.Make[int32](k.b, size) // of whole numbers, as the converter has them here
	if err != nil {
		return at(err)
	}
	k.addVocab("gpt2", "tekken", v)
	k.put("tokenizer.ggml.scores", scores)
	k.put("tokenizer.ggml.merges", merges)
	for _, one := range [][2]string{{"bos", "<s>"}, {"eos", "</s>"}, {"unknown", "<unk>"}, {"padding", "<pad>"}} {
		id := slices.Index(t.Special, one[1])
		if id < 0 {
			return at(wire.ErrMissing.Errorf("there is no special token %s", wire.Quote(one[1])))
		}
		k.put("tokenizer.ggml."+one[0]+"_token_id", uint32(id))
	}
	k.put("tokenizer.ggml.add_bos_token", true)
	k.put("tokenizer.ggml.add_eos_token", false)
	if ok {
		k.put("tokenizer.chat_template", template)
	}
	return nil
}

// kimiReserved is the number of special tokens after the vocabulary.
const kimiReserved = 256

// deepseekVocab adds a BPE of bytes from tokenizer.json, or Kimi's from a tiktoken file;
// DeepseekV2Model.set_vocab in deepseek.py.
func deepseekVocab(k *keys) error {
	if k.has(tokenizer.FileName) || !k.has(tokenizer.TiktokenName) {
		return gpt2Vocab(k)
	}
	r, err := tokenizer.ReadTiktoken(k.b, k.files, tokenizer.TiktokenName)
	if err != nil {
		return err
	}
	at := func(err error) error { return wire.At(tokenizer.TiktokenName, "", wire.NoOffset, err) }
	pre := k.o.Pre
	if pre == "" {
		if pre, err = r.Kimi(k.b); err != nil {
			return at(err)
		}
	}
	if pre != "kimi-k2" {
		return at(wire.ErrUnsupported.Errorf("the pre-tokenizer %s; such a file is known only for kimi-k2", wire.Quote(pre)))
	}
	v, err := k.kimi(r)
	if err != nil {
		return err
	}
	merges, err := r.Merges(k.b)
	if err != nil {
		return at(err)
	}
	k.addVocab("gpt2", pre, v)
	return k.special(nil, merges, int64(len(v.texts)))
}

// kimi returns the tokens of the file and the special ones after them, which
// tokenizer_config.json names or which are reserved.
func (k *keys) kimi(r *tokenizer.Ranks) (*vocab, error) {
	at := func(err error) error { return wire.At(tokenizer.TiktokenName, "", wire.NoOffset, err) }
	size, n := k.c.int("vocab_size"), len(r.Tokens)
	if size < int64(n) || size > int64(n+kimiReserved) {
		return nil, at(wire.ErrMismatch.Errorf("it has %d tokens and %d special ones after them, but the configuration states %d", n, kimiReserved, size))
	}
	v, err := k.newVocab(size, false)
	if err != nil {
		return nil, err
	}
	texts, err := r.Texts(k.b)
	if err != nil {
		return nil, at(err)
	}
	copy(v.texts, texts)
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return nil, err
	}
	for i := range v.types {
		if v.types[i] = typeNormal; i < n {
			continue
		}
		text := config.Get("added_tokens_decoder").Get(strconv.Itoa(i)).Get("content")
		if v.texts[i], v.types[i] = text.String(), typeControl; v.texts[i] == "" {
			v.texts[i] = "<|reserved_token_" + strconv.Itoa(i) + "|>"
		}
		if err := k.b.Hold(32); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// foreignVocabs are vocabulary files of other libraries: OpenAI's tiktoken and
// mistral-common.
var foreignVocabs = []string{tokenizer.TiktokenName, tokenizer.TekkenName}

// foreign returns the file of another library that holds a folder's vocabulary, "" for
// none.
func (k *keys) foreign() (string, error) {
	for _, name := range foreignVocabs {
		if k.has(name) {
			return name, nil
		}
	}
	names, err := fs.Glob(k.files, "*.tiktoken")
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}
