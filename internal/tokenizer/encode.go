package tokenizer

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A bpe is what encoding a text needs.
type bpe struct {
	t        *JSON
	normal   []step
	cuts     []cutter
	early    []Added // that are looked for in the text
	late     []Added // that are looked for in what is normalized
	pairs    map[[2]int32]merged
	unknown  int32 // or -1
	fuse     bool
	whole    bool // a piece that is a token is one
	fallback bool
	piece    *wordPiece // nil for a BPE
	front    []int32    // what the post-processor adds
	back     []int32
}

// A merged is what two tokens become, and when.
type merged struct{ rank, id int32 }

// pairBytes is about what a pair takes in its map.
const pairBytes = 48

// prepare builds what encoding needs.
func (t *JSON) prepare(b *limits.Budget) (err error) {
	if t.bpe != nil {
		return nil
	}
	if t.Type != "BPE" && t.Type != "WordPiece" {
		return wire.ErrUnsupported.Errorf("texts are encoded with BPE and WordPiece only, not with %s", wire.Quote(t.Type))
	}
	e := &bpe{t: t, pairs: map[[2]int32]merged{}, unknown: -1}
	if e.normal, err = inOrder(b, t.Rest.Get("normalizer"), "normalizers", 0, normalizer); err != nil {
		return err
	}
	if e.cuts, err = inOrder(b, t.Rest.Get("pre_tokenizer"), "pretokenizers", 0, newCutter); err != nil {
		return err
	}
	if t.ends != nil {
		e.front, e.back = t.ends.front, t.ends.back
	} else if err := e.posts(b, t.Rest.Get("post_processor"), 0); err != nil {
		return err
	}
	for _, a := range t.Added {
		list := &e.early
		if a.Normalized {
			list = &e.late
			if a.Text, err = e.normalize(b, a.Text); err != nil {
				return err
			}
		}
		if *list, err = limits.Append(b, *list, a); err != nil {
			return err
		}
	}
	if t.Type == "WordPiece" {
		if e.piece, e.unknown, err = newWordPiece(t, t.Model); err == nil {
			t.bpe = e
		}
		return err
	}
	if err := e.options(t.Model); err != nil {
		return err
	}
	if err := e.ranks(b); err != nil {
		return err
	}
	t.bpe = e
	return nil
}

func (e *bpe) options(m jsontree.Value) error {
	for _, name := range []string{"continuing_subword_prefix", "end_of_word_suffix"} {
		if m.Get(name).String() != "" {
			return wire.ErrUnsupported.Errorf("%s in a BPE", name)
		}
	}
	if f, ok := m.Get("dropout").Float(); ok && f != 0 {
		return wire.ErrUnsupported.Errorf("a BPE that drops merges at random")
	}
	e.whole, e.fallback, e.fuse = m.Get("ignore_merges").True(), m.Get("byte_fallback").True(), m.Get("fuse_unk").True()
	if unk := m.Get("unk_token"); unk.IsString() {
		id, ok := e.t.find(unk.String())
		if !ok {
			return wire.ErrMismatch.Errorf("the unknown token %s is not in the vocabulary", wire.Quote(unk.String()))
		}
		e.unknown = id
	}
	return nil
}

// ranks numbers the merges.
func (e *bpe) ranks(b *limits.Budget) error {
	for i, m := range e.t.Merges {
		if err := b.Hold(pairBytes); err != nil {
			return err
		}
		pair, id, err := e.t.joined(i, m)
		if err != nil {
			return err
		}
		e.pairs[pair] = merged{int32(i), id}
	}
	return nil
}

// joined are the numbers of the two parts of a merge, and of what it makes.
func (t *JSON) joined(i int, m Merge) (pair [2]int32, id int32, err error) {
	a, okA := t.find(m.A)
	c, okB := t.find(m.B)
	id, ok := t.find(m.A + m.B)
	if !okA || !okB || !ok {
		err = wire.ErrMismatch.Errorf("merge %d joins texts that are not in the vocabulary", i)
	}
	return [2]int32{a, c}, id, err
}

// Joins refuses a vocabulary that has not the tokens of all its merges, as the library
// does.
func (t *JSON) Joins(b *limits.Budget) error {
	for i, m := range t.Merges {
		if err := b.Step(1); err != nil {
			return err
		}
		if _, _, err := t.joined(i, m); err != nil {
			return err
		}
	}
	return nil
}

// posts finds what the post-processor adds to one text.
func (e *bpe) posts(b *limits.Budget, v jsontree.Value, depth int) error {
	kind := v.Get("type").String()
	// A processor puts its tokens around those of all before it.
	around := int64(1 + len(e.front) + len(e.back))
	if err := cmp.Or(b.Step(around), b.Hold(4*around)); err != nil {
		return err
	}
	special := func(name string) (int32, error) {
		id, ok := v.Get(name).List(), false
		if len(id) == 2 {
			n, is := id[1].Int()
			ok = is && n >= 0 && n <= maxID
			if ok {
				return int32(n), nil
			}
		}
		return 0, wire.ErrSyntax.Errorf("%s of the post-processor is not a token and its number", name)
	}
	switch {
	case !v.There || kind == "ByteLevel":
		return nil
	case depth > maxNesting:
		return wire.ErrUnsupported.Errorf("nested sequences, more than %d deep", maxNesting)
	case kind == "Sequence":
		for _, one := range v.Get("processors").List() {
			if err := e.posts(b, one, depth+1); err != nil {
				return err
			}
		}
		return nil
	case kind == "RobertaProcessing" || kind == "BertProcessing":
		cls, err := special("cls")
		if err != nil {
			return err
		}
		sep, err := special("sep")
		e.front, e.back = append([]int32{cls}, e.front...), append(e.back, sep)
		return err
	case kind == "TemplateProcessing":
		return e.template(b, v)
	}
	return wire.ErrUnsupported.Errorf("the post-processor %s", wire.Quote(kind))
}

// template reads what stands around the sequence A.
func (e *bpe) template(b *limits.Budget, v jsontree.Value) error {
	var front, back []int32
	list, passed := &front, false
	for _, one := range v.Get("single").List() {
		if one.Get("Sequence").There {
			if passed || one.At("Sequence.id").String() != "A" {
				return wire.ErrUnsupported.Errorf("a template of more than one text")
			}
			list, passed = &back, true
			continue
		}
		name := one.At("SpecialToken.id").String()
		ids := v.Get("special_tokens").Get(name).Get("ids").List()
		if len(ids) == 0 {
			return wire.ErrMismatch.Errorf("the template names the token %s, of which it gives no number", wire.Quote(name))
		}
		for _, id := range ids {
			n, ok := id.Int()
			if !ok || n < 0 || n > maxID {
				return wire.ErrRange.Errorf("a number of a token in the template")
			}
			var err error
			if *list, err = limits.Append(b, *list, int32(n)); err != nil {
				return err
			}
		}
	}
	e.front, e.back = slices.Concat(front, e.front), slices.Concat(e.back, back)
	return nil
}

func (e *bpe) normalize(b *limits.Budget, text string) (string, error) {
	was := len(text)
	for _, s := range e.normal {
		if err := b.Hold(int64(len(text))); err != nil {
			return "", err
		}
		var err error
		if text, err = s(b, text); err == nil {
			err = grows(was, len(text))
		}
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// Encode gives the numbers of a text's tokens, as the library's encode does with
// its post-processor.
func (t *JSON) Encode(b *limits.Budget, text string) (ids []int32, err error) {
	if err := t.prepare(b); err != nil {
		return nil, err
	}
	e := t.bpe
	out := slices.Clone(e.front)
	if out, err = around(b, out, text, e.early, true, e.plain); err != nil {
		return nil, err
	}
	for _, id := range e.back {
		if out, err = limits.Append(b, out, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plain encodes a text without tokens of the first kind.
func (e *bpe) plain(b *limits.Budget, out []int32, text string, first bool) ([]int32, error) {
	text, err := e.normalize(b, text)
	if err != nil {
		return nil, err
	}
	return around(b, out, text, e.late, first, e.words)
}

// around puts out the numbers of added tokens, and has what stands between them
// encoded. first says that the text begins the input.
func around(b *limits.Budget, out []int32, text string, added []Added, first bool, encode func(*limits.Budget, []int32, string, bool) ([]int32, error)) ([]int32, error) {
	pieces, err := cutAdded(b, text, added)
	if err != nil {
		return nil, err
	}
	for i, p := range pieces {
		if p.id >= 0 {
			out, err = limits.Append(b, out, p.id)
		} else {
			out, err = encode(b, out, p.text, first && i == 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// words encodes a text without added tokens.
func (e *bpe) words(b *limits.Budget, out []int32, text string, first bool) (_ []int32, err error) {
	words := []string{text}
	for _, cut := range e.cuts {
		var next []string
		for k, w := range words {
			list, err := cut(b, w, first && k == 0)
			if err != nil {
				return nil, err
			}
			for _, l := range list {
				if next, err = limits.Append(b, next, l); err != nil {
					return nil, err
				}
			}
		}
		words = next
	}
	for _, w := range words {
		if out, err = e.word(b, out, w); err != nil {
			return nil, err
		}
	}
	return out, nil
}
