package family

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// plamoEnd is the number of the token that ends a turn in all vocabularies of PLaMo.
const plamoEnd = 4

// plamoVocab adds the vocabulary of tokenizer.jsonl, and the chat template if the model has one:
// _set_vocab_plamo in base.py.
func plamoVocab(k *keys) error {
	if !k.has(tokenizer.PlamoName) {
		return wire.At(tokenizer.PlamoName, "", wire.NoOffset, wire.ErrMissing.Errorf("the model has no vocabulary: %s is not beside its weights", tokenizer.PlamoName))
	}
	pieces, err := tokenizer.ReadPlamo(k.b, k.files, tokenizer.PlamoName)
	if err != nil {
		return err
	}
	v, err := k.plamoTokens(pieces)
	if err != nil {
		return err
	}
	k.addVocab("plamo2", "default", v)
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	for _, one := range []string{"bos", "eos", "pad", "sep", "unk"} {
		if err := k.plamoSpecial(v, one, config.Get(one+"_token")); err != nil {
			return err
		}
	}
	k.put("tokenizer.ggml.eot_token_id", uint32(plamoEnd))
	k.put("tokenizer.ggml.add_space_prefix", false)
	return k.templates(config)
}

// plamoTokens returns the tokens, and those that fill the rest of the table.
func (k *keys) plamoTokens(pieces []tokenizer.Piece) (*vocab, error) {
	size := k.c.int("vocab_size")
	if size < int64(len(pieces)) || len(pieces) <= plamoEnd {
		return nil, wire.At(tokenizer.PlamoName, "", wire.NoOffset, wire.ErrMismatch.Errorf("it has %d tokens, but the configuration states %d", len(pieces), size))
	}
	v, err := k.newVocab(size, true)
	if err != nil {
		return nil, err
	}
	for i := range v.texts {
		if err := k.b.Step(1); err != nil {
			return nil, err
		}
		if i < len(pieces) {
			v.texts[i], v.scores[i], v.types[i] = pieces[i].Text, pieces[i].Score, int32(pieces[i].Type)
			continue
		}
		if err := k.b.Hold(16); err != nil {
			return nil, err
		}
		v.texts[i], v.scores[i], v.types[i] = "[PAD"+strconv.Itoa(i-len(pieces)+1)+"]", -1000, typeUnused
	}
	return v, nil
}

// plamoSpecial adds the number of a special token that tokenizer_config.json names.
func (k *keys) plamoSpecial(v *vocab, name string, text jsontree.Value) error {
	if !text.There {
		return nil
	}
	for i := range v.texts {
		if err := k.b.Step(1); err != nil {
			return err
		}
		if text.IsString() && v.texts[i] == text.String() {
			k.put("tokenizer.ggml."+specialKeys[name]+"_token_id", uint32(i))
			return nil
		}
	}
	return wire.At(tokenizerConfig, "", wire.NoOffset, wire.ErrMissing.Errorf("there is no token %s, which must be %s", wire.Quote(text.String()), name))
}
