package family

import (
	"cmp"
	"io/fs"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// multipleOf8 is a byte-level BPE whose number of tokens is a multiple of eight. The converter pads
// other numbers, without adding rows to the embedding table.
func multipleOf8(k *keys) error {
	k.multipleOf(8)
	return gpt2Vocab(k)
}

func (k *keys) multipleOf(n int64) {
	if k.c.int("vocab_size")%n != 0 {
		k.fail("vocab_size", k.c.get("vocab_size"), "a multiple of "+itoa(n))
	}
}

const (
	tokenizerConfig = "tokenizer_config.json"
	addedTokens     = "added_tokens.json"
	maxVocab        = 1 << 24
	maxTokenizer    = 64 << 20
)

// The types of tokens, as llama.cpp numbers them; those of sentencepiece.
const (
	typeNormal      = int32(tokenizer.Normal)
	typeUnknown     = int32(tokenizer.Unknown)
	typeControl     = int32(tokenizer.Control)
	typeUserDefined = int32(tokenizer.UserDefined)
	typeUnused      = int32(tokenizer.Unused)
	typeByte        = int32(tokenizer.Byte)
)

// A vocab is the tokens of a model, by number.
type vocab struct {
	texts  []string
	types  []int32
	scores []float32
}

func (k *keys) has(name string) bool {
	info, err := fs.Stat(k.files, name)
	return err == nil && info.Mode().IsRegular()
}

// newVocab returns a vocabulary of n empty tokens.
func (k *keys) newVocab(n int64, scores bool) (*vocab, error) {
	if n < 1 || n > maxVocab {
		return nil, wire.At(configName, "", wire.NoOffset, wire.ErrRange.Errorf("a vocabulary of %d tokens", n))
	}
	v := &vocab{}
	var err error
	if v.texts, err = limits.Make[string](k.b, int(n)); err != nil {
		return nil, err
	}
	if v.types, err = limits.Make[int32](k.b, int(n)); err != nil {
		return nil, err
	}
	if scores {
		v.scores, err = limits.Make[float32](k.b, int(n))
	}
	return v, err
}

// pad names the numbers without a token.
func (k *keys) pad(v *vocab) error {
	for i, text := range v.texts {
		if text != "" {
			continue
		}
		if err := k.b.Hold(16); err != nil {
			return err
		}
		v.texts[i], v.types[i] = "[PAD"+strconv.Itoa(i)+"]", typeUnused
	}
	return nil
}

// addVocab adds the keys of a vocabulary.
func (k *keys) addVocab(model, pre string, v *vocab) {
	if err := k.distinct(v.texts); err != nil && k.err == nil {
		k.err = err
	}
	k.put("tokenizer.ggml.model", model)
	if pre != "" {
		k.put("tokenizer.ggml.pre", pre)
	}
	k.put("tokenizer.ggml.tokens", v.texts)
	if v.scores != nil {
		k.put("tokenizer.ggml.scores", v.scores)
	}
	k.put("tokenizer.ggml.token_type", v.types)
}

// distinct refuses equal tokens, which make llama.cpp abort.
func (k *keys) distinct(texts []string) error {
	set, err := wire.NewNameSet(k.b, len(texts), func(i int) string { return texts[i] })
	for i := 0; err == nil && i < len(texts); i++ {
		was, added, bad := set.Add(i)
		if err = bad; err == nil && !added {
			err = wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrDuplicate.Errorf("tokens %d and %d are %s", was, i, wire.Quote(texts[i])))
		}
	}
	return err
}

// looksSpecial are tokens that some models mark as ordinary and that steer all the
// same; does_token_look_special in base.py.
func looksSpecial(text string) bool {
	switch text {
	case "<pad>", "<mask>", "<2mass>", "[@BOS@]":
		return true
	}
	within := func(from, to string) bool { return strings.HasPrefix(text, from) && strings.HasSuffix(text, to) }
	return within("<|", "|>") || within("<｜", "｜>") || within("<unused", ">")
}

// gpt2Vocab is a BPE of bytes out of tokenizer.json.
func gpt2Vocab(k *keys) error {
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	return k.bytePairs(t)
}

func (k *keys) readJSON() (*tokenizer.JSON, error) {
	if !k.has(tokenizer.FileName) {
		if name, err := k.foreign(); err != nil || name != "" {
			return nil, wire.At(name, "", wire.NoOffset, cmp.Or(err, wire.ErrUnsupported.Errorf("this kind of vocabulary is not supported for %s: %s is needed beside the weights, and transformers' save_pretrained writes it", wire.Quote(k.c.row.names[0]), tokenizer.FileName)))
		}
		if k.has(tokenizer.SPMName) {
			return nil, wire.At(tokenizer.SPMName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("for %s llama.cpp's vocabulary is made of %s, which is not beside the weights: transformers' save_pretrained writes it", wire.Quote(k.c.row.names[0]), tokenizer.FileName))
		}
		return nil, wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMissing.Errorf("the model has no vocabulary: neither %s nor %s is beside its weights", tokenizer.SPMName, tokenizer.FileName))
	}
	return tokenizer.ReadJSON(k.b, k.files, tokenizer.FileName)
}

// textsOf returns the tokens of a vocabulary of the given type, and llama.cpp's name of
// its pre-tokenizer.
func (k *keys) textsOf(t *tokenizer.JSON, kind string) (pre string, v *vocab, err error) {
	if t.Type != kind {
		return "", nil, wire.ErrUnsupported.Errorf("a model of the type %s, expected %s", wire.Quote(t.Type), kind)
	}
	if pre = k.o.Pre; pre == "" {
		if kind == "BPE" {
			if err = k.setSurround(t); err != nil {
				return "", nil, err
			}
		}
		if pre, err = t.Pre(k.b); err != nil {
			return "", nil, err
		}
	}
	v, err = k.tokensOf(t)
	return pre, v, err
}

func (k *keys) bytePairs(t *tokenizer.JSON) error {
	at := func(err error) error { return wire.At(tokenizer.FileName, "", wire.NoOffset, err) }
	pre, v, err := k.textsOf(t, "BPE")
	if err != nil {
		return at(err)
	}
	k.addVocab("gpt2", pre, v)
	merges, err := k.merges(t)
	if err != nil {
		return at(err)
	}
	return k.special(t, merges, int64(len(v.texts)))
}

// setSurround encodes the probe text with the tokens that transformers 4.57 puts around
// it. Some of its classes ignore the post-processor and follow tokenizer_config.json, and
// the converter's digests come from what they return. DeepSeek's vocabularies are
// recognized by that.
func (k *keys) setSurround(t *tokenizer.JSON) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	switch config.Get("tokenizer_class").String() {
	case "LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "CodeLlamaTokenizerFast", "CohereTokenizer", "CohereTokenizerFast", "GemmaTokenizer", "GemmaTokenizerFast":
	default:
		return nil
	}
	s := &specialVocab{texts: map[string]string{}}
	s.read(config)
	first, last := "", ""
	if add, ok := config.Get("add_bos_token").Bool(); add || !ok {
		first = s.texts["bos"]
	}
	if config.Get("add_eos_token").True() {
		last = s.texts["eos"]
	}
	return wire.At(tokenizerConfig, "", wire.NoOffset, t.Surround(k.b, first, last))
}

// tokensOf returns the tokens of tokenizer.json: the model's and the added ones.
func (k *keys) tokensOf(t *tokenizer.JSON) (*vocab, error) {
	size := k.c.int("vocab_size")
	if size == 0 {
		size = int64(len(t.Tokens) + len(t.Added))
	}
	v, err := k.newVocab(size, false)
	if err != nil {
		return nil, err
	}
	put := func(id int32, text string, kind int32) error {
		switch {
		case int64(id) >= size:
			return wire.ErrMismatch.Errorf("token %s has the number %d, but the configuration states %d tokens", wire.Quote(text), id, size)
		case v.texts[id] != "" && v.texts[id] != text && v.types[id] == kind:
			return wire.ErrDuplicate.Errorf("tokens %s and %s have the number %d", wire.Quote(v.texts[id]), wire.Quote(text), id)
		}
		v.texts[id], v.types[id] = text, kind
		return k.b.Step(1)
	}
	for i := range t.Tokens {
		if x := &t.Tokens[i]; x.Text != "" {
			if err := put(x.ID, x.Text, typeNormal); err != nil {
				return nil, err
			}
		}
	}
	byteLevel := usesBytes(t.Rest.Get("decoder"))
	for i := range t.Added {
		a := &t.Added[i]
		text, kind := a.Text, typeUserDefined
		if !a.Normalized {
			if text, err = asDecoded(text, byteLevel); err != nil {
				return nil, err
			}
		}
		if a.Special || looksSpecial(text) {
			kind = typeControl
		} else {
			text = strings.ReplaceAll(text, "▁", " ")
		}
		if int64(a.ID) < size {
			v.texts[a.ID] = ""
		}
		if err := put(a.ID, text, kind); err != nil {
			return nil, err
		}
	}
	return v, k.pad(v)
}

// usesBytes reports a decoder whose characters stand for bytes.
func usesBytes(v jsontree.Value) bool {
	if v.Get("type").String() == "ByteLevel" {
		return true
	}
	for _, one := range v.Get("decoders").List() {
		if one.Get("type").String() == "ByteLevel" {
			return true
		}
	}
	return false
}

// asDecoded returns an added token as the library decodes it.
func asDecoded(text string, byteLevel bool) (string, error) {
	if !byteLevel {
		if strings.ContainsAny(text, "▁ ") {
			return "", wire.ErrUnsupported.Errorf("the added token %s with a decoder that is not ByteLevel", wire.Quote(text))
		}
		return text, nil
	}
	if out, ok := tokenizer.FromBytes(text); ok {
		return out, nil
	}
	return text, nil
}

// merges returns the merges of the model as texts "a b".
func (k *keys) merges(t *tokenizer.JSON) ([]string, error) {
	list, err := limits.Make[string](k.b, len(t.Merges))
	if err == nil {
		err = t.Joins(k.b) // which nothing else asks where the pre-tokenizer's name is given
	}
	if err != nil {
		return nil, err
	}
	for i, m := range t.Merges {
		if err := k.b.Hold(int64(len(m.A) + len(m.B) + 1)); err != nil {
			return nil, err
		}
		list[i] = strings.ReplaceAll(m.A, " ", "Ġ") + " " + strings.ReplaceAll(m.B, " ", "Ġ")
	}
	return list, k.mergedOnce(list)
}

// mergedOnce refuses a repeated merge: tokenizers ranks it by its last position, llama.cpp
// by its first.
func (k *keys) mergedOnce(list []string) error {
	seen, err := wire.NewNameSet(k.b, len(list), func(i int) string { return list[i] })
	if err != nil {
		return err
	}
	for i := range list {
		if _, added, err := seen.Add(i); err != nil {
			return err
		} else if !added {
			return wire.ErrDuplicate.Errorf("merge %d, %s, appears twice: tokenizers and llama.cpp would merge in different orders", i, wire.Quote(list[i]))
		}
	}
	return nil
}
