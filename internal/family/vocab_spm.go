package family

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// llamaVocab adds sentencepiece's model if there is one, else tokenizer.json: a BPE of
// characters, or of bytes.
func llamaVocab(k *keys) error {
	if k.isTekken() {
		return k.tekken()
	}
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	if space, ok := config.Get("add_prefix_space").Bool(); ok {
		k.put("tokenizer.ggml.add_space_prefix", space)
	}
	if err := k.llamaTokens(); err != nil {
		return err
	}
	size := k.c.int("vocab_size")
	if size == 32016 { // CodeLlama
		k.put("tokenizer.ggml.eot_token_id", uint32(32010))
	}
	if size == 49152 { // the smaller ones of Granite and SmolLM
		k.put("tokenizer.ggml.add_bos_token", false)
	}
	return nil
}

func (k *keys) llamaTokens() error {
	if k.has(tokenizer.SPMName) {
		return spmVocab(k)
	}
	t, err := k.readJSON()
	if err != nil {
		return err
	}
	if t.Type == "BPE" && t.Model.Get("byte_fallback").True() && t.Rest.At("decoder.type").String() == "Sequence" {
		return k.characters(t)
	}
	return k.bytePairs(t)
}

// spmOrBytes adds sentencepiece's model if there is one, else a BPE of bytes.
func spmOrBytes(k *keys) error {
	if k.has(tokenizer.SPMName) {
		return spmVocab(k)
	}
	return gpt2Vocab(k)
}

// spmVocab adds sentencepiece's model, with the added tokens.
func spmVocab(k *keys) error { return k.spmKeys(false) }

// spmKeys adds the tokens of sentencepiece's model. With asWritten, added tokens are taken
// unchanged and those of tokenizer.json too, as the converter does for Phi-3.
func (k *keys) spmKeys(asWritten bool) error {
	m, err := tokenizer.ReadSPM(k.b, k.files, tokenizer.SPMName)
	if err != nil {
		return err
	}
	if m.Model != 2 {
		return wire.At(tokenizer.SPMName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("a model that is not BPE: llama.cpp would merge its pieces as if it were"))
	}
	v, err := k.spmTokens(m, k.vocabSize(m))
	if err != nil {
		return err
	}
	if err := k.addedTo(v, asWritten); err != nil {
		return err
	}
	k.addVocab("llama", "default", v)
	return k.special(nil, nil, int64(len(v.texts)))
}

// vocabSize returns the size that the configuration states, or else the number of pieces.
func (k *keys) vocabSize(m *tokenizer.SPM) int64 {
	if size := k.c.int("vocab_size"); size != 0 {
		return size
	}
	return int64(len(m.Pieces))
}

// spmTokens returns a vocabulary of size tokens: the pieces of a model, padding, and the
// tokens of added_tokens.json.
func (k *keys) spmTokens(m *tokenizer.SPM, size int64) (*vocab, error) {
	v, err := k.newVocab(size, true)
	if err != nil {
		return nil, err
	}
	if err := k.putPieces(v, m.Pieces, 0); err != nil {
		return nil, err
	}
	if err := k.pad(v); err != nil {
		return nil, err
	}
	return v, k.addedBeside(v)
}

// putPieces sets the pieces of a model, the first as token number from. Tokens without a
// piece get a score that is never chosen.
func (k *keys) putPieces(v *vocab, pieces []tokenizer.Piece, from int) error {
	for i := range v.scores {
		v.scores[i] = -10000
	}
	for i, p := range pieces {
		if err := k.b.Step(1); err != nil {
			return err
		}
		if i+from >= len(v.texts) {
			break
		}
		v.texts[i+from], v.scores[i+from], v.types[i+from] = p.Text, p.Score, int32(p.Type)
		if p.Type == tokenizer.UserDefined {
			v.types[i+from] = typeNormal // the converter asks for all other types only
		}
	}
	return nil
}

// addedBeside sets the tokens of added_tokens.json over those of the model.
func (k *keys) addedBeside(v *vocab) error {
	added, err := jsontree.Read(k.b, k.files, addedTokens, maxTokenizer)
	if err != nil {
		return err
	}
	for m := range added.Members() {
		text := m.Name
		id, ok := m.Value.Int()
		if err := k.b.Step(1); err != nil {
			return err
		}
		if !ok || id < 0 {
			return wire.At(addedTokens, "", added.Off(), wire.ErrSyntax.Errorf("token %s has no number", wire.Quote(text)))
		}
		if id < int64(len(v.texts)) {
			v.texts[id], v.scores[id], v.types[id] = text, -1000, typeUserDefined
		}
	}
	return nil
}

// addedTo lays the tokens of tokenizer_config.json over those of the model.
func (k *keys) addedTo(v *vocab, asWritten bool) error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	for m := range config.Get("added_tokens_decoder").Members() {
		number, one := m.Name, m.Value
		if err := k.b.Step(1); err != nil {
			return err
		}
		id, err := strconv.ParseUint(number, 10, 31)
		text := one.Get("content")
		if err != nil || !text.IsString() || text.String() == "" {
			return wire.At(tokenizerConfig, "", one.Off(), wire.ErrSyntax.Errorf("added token %s", wire.Quote(number)))
		}
		if id >= uint64(len(v.texts)) {
			continue
		}
		v.putAdded(int(id), text.String(), one.Get("special").True(), asWritten)
	}
	if !asWritten || !k.has(tokenizer.FileName) {
		return nil
	}
	t, err := tokenizer.ReadJSON(k.b, k.files, tokenizer.FileName)
	if err != nil {
		return err
	}
	for i := range t.Added {
		if a := &t.Added[i]; int(a.ID) < len(v.texts) {
			v.putAdded(int(a.ID), a.Text, a.Special, true)
		}
	}
	return nil
}

// putAdded sets an added token over the token with its number.
func (v *vocab) putAdded(id int, text string, special, asWritten bool) {
	v.texts[id], v.scores[id], v.types[id] = text, -1000, typeControl
	if special || !asWritten && looksSpecial(text) {
		return
	}
	v.types[id] = typeUserDefined
	if !asWritten {
		v.texts[id] = strings.ReplaceAll(text, "▁", " ")
	}
}

// characters adds a sentencepiece BPE from tokenizer.json. Its scores are lost, and its
// merges are not written: LlamaHfVocab in gguf's vocab.py.
func (k *keys) characters(t *tokenizer.JSON) error {
	v, err := k.characterTokens(t)
	if err != nil {
		return err
	}
	k.addVocab("llama", "default", v)
	return k.special(t, nil, int64(len(v.texts)))
}

// characterTokens returns its tokens, and the added ones after them.
func (k *keys) characterTokens(t *tokenizer.JSON) (*vocab, error) {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return nil, err
	}
	base := int64(len(t.Tokens))
	size := base
	for i := range t.Added {
		if int64(t.Added[i].ID) >= base {
			size = max(size, int64(t.Added[i].ID)+1)
		}
	}
	v, err := k.newVocab(size, true)
	if err != nil {
		return nil, err
	}
	special := specials(config)
	kind := func(text string, otherwise int32) int32 {
		switch {
		case isByteToken(text):
			return typeByte
		case special[text]:
			return typeControl
		}
		return otherwise
	}
	for _, x := range t.Tokens {
		if int64(x.ID) >= base {
			return nil, wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMismatch.Errorf("token %s has the number %d of %d", wire.Quote(x.Text), x.ID, base))
		}
		v.texts[x.ID], v.types[x.ID] = x.Text, kind(x.Text, typeNormal)
	}
	for i := range t.Added {
		if a := &t.Added[i]; int64(a.ID) >= base {
			v.texts[a.ID], v.types[a.ID] = a.Text, kind(a.Text, typeUserDefined)
		}
	}
	for i := range v.scores {
		if v.scores[i] = -1000; v.texts[i] == "" {
			return nil, wire.At(tokenizer.FileName, "", wire.NoOffset, wire.ErrMismatch.Errorf("no token has the number %d", i))
		}
	}
	return v, nil
}

// specials returns the special tokens that tokenizer_config.json names.
func specials(config jsontree.Value) map[string]bool {
	set := map[string]bool{}
	add := func(v jsontree.Value) {
		if v.Get("content").IsString() {
			v = v.Get("content")
		}
		if v.IsString() {
			set[v.String()] = true
		}
	}
	for _, name := range specialNames {
		add(config.Get(name + "_token"))
	}
	for _, member := range []string{"additional_special_tokens", "extra_special_tokens"} {
		v := config.Get(member)
		for _, one := range v.List() {
			add(one)
		}
		for m := range v.Members() {
			add(m.Value)
		}
	}
	return set
}

// isByteToken reports whether a token has the form <0xXX>.
func isByteToken(text string) bool {
	if len(text) != 6 || !strings.HasPrefix(text, "<0x") || text[5] != '>' {
		return false
	}
	_, err := strconv.ParseUint(text[3:5], 16, 8)
	return err == nil
}
