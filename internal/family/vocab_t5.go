package family

import (
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// spieceName is the file of T5's vocabulary in older folders.
const spieceName = "spiece.model"

// isT5 reports a vocabulary of T5, which is written as spiece.model: transformers derives
// its own rules from it.
func (r *vocabWriter) isT5() bool {
	return r.s.text("model") == "t5" && len(r.v.scores) == len(r.v.texts) && r.s.row.back.pieces
}

// t5Vocab adds a unigram model of sentencepiece with its pieces unchanged; Pile-T5 has a
// BPE instead.
func t5Vocab(k *keys) error {
	name := tokenizer.SPMName
	if !k.has(name) {
		name = spieceName
	}
	if !k.has(name) {
		where := "beside its weights"
		if k.has(tokenizer.FileName) {
			where += ", and " + tokenizer.FileName + " does not have all of what llama.cpp needs of it"
		}
		return wire.At(name, "", wire.NoOffset, wire.ErrMissing.Errorf("the model has no vocabulary of sentencepiece: neither %s nor %s is %s", tokenizer.SPMName, spieceName, where))
	}
	m, err := tokenizer.ReadSPM(k.b, k.files, name)
	if err != nil {
		return err
	}
	switch {
	case m.Model == 2 && name == tokenizer.SPMName:
		return spmVocab(k)
	case m.Model != 1:
		return wire.At(name, "", wire.NoOffset, wire.ErrUnsupported.Errorf("a model that is not Unigram"))
	}
	size := k.vocabSize(m)
	if size < int64(len(m.Pieces)) {
		return wire.At(name, "", wire.NoOffset, wire.ErrMismatch.Errorf("it has %d pieces, but the configuration states %d tokens", len(m.Pieces), size))
	}
	v, err := k.spmTokens(m, size)
	if err != nil {
		return err
	}
	k.addVocab("t5", "default", v)
	if err := k.normalizerKeys(m); err != nil {
		return err
	}
	return k.special(nil, nil, size)
}
