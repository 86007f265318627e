package tokenizer

import (
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A wordPiece holds the options of a model that takes the longest pieces from the left.
type wordPiece struct {
	prefix  string // of pieces that do not begin a word
	longest int64  // in characters; a longer word is unknown
}

// maxPrefix bounds the prefix, which is added to each piece that is looked up.
const maxPrefix = 64

func newWordPiece(t *JSON, m jsontree.Value) (w *wordPiece, unknown int32, err error) {
	w = &wordPiece{prefix: "##", longest: 100}
	if v := m.Get("continuing_subword_prefix"); v.IsString() {
		w.prefix = v.String()
	}
	if len(w.prefix) > maxPrefix {
		return nil, 0, wire.ErrUnsupported.Errorf("a prefix of %d bytes, at most %d are read", len(w.prefix), maxPrefix)
	}
	if n, ok := m.Get("max_input_chars_per_word").Int(); ok {
		w.longest = n
	}
	text := "[UNK]"
	if v := m.Get("unk_token"); v.IsString() {
		text = v.String()
	}
	unknown, ok := t.find(text)
	if !ok {
		return nil, 0, wire.ErrMismatch.Errorf("the unknown token %s is not in the vocabulary", wire.Quote(text))
	}
	return w, unknown, nil
}

// encodeWordPiece cuts a word into the longest pieces. A word that cannot be cut is a
// single unknown token.
func (e *encoder) encodeWordPiece(b *limits.Budget, out []int32, w string) (_ []int32, err error) {
	if int64(utf8.RuneCountInString(w)) > e.wordPiece.longest {
		return limits.Append(b, out, e.unknown)
	}
	first := len(out)
	for from := 0; from < len(w); {
		prefix := e.wordPiece.prefix
		if from == 0 {
			prefix = ""
		}
		to, id := len(w), int32(-1)
		for to > from {
			if err := b.Step(int64(1 + (len(prefix)+to-from)/16)); err != nil {
				return nil, err
			}
			if found, ok := e.t.find(prefix + w[from:to]); ok {
				id = found
				break
			}
			_, n := utf8.DecodeLastRuneInString(w[from:to])
			to -= n
		}
		if id < 0 {
			return limits.Append(b, out[:first], e.unknown)
		}
		if out, err = limits.Append(b, out, id); err != nil {
			return nil, err
		}
		from = to
	}
	return out, nil
}
