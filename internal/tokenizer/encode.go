package tokenizer

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// An encoder encodes texts.
type encoder struct {
	t               *JSON
	normal          []normalizeFunc
	cuts            []preTokenizer
	rawAdded        []Added // looked for in the text
	normalizedAdded []Added // looked for in the normalized text
	pairs           map[[2]int32]mergeResult
	unknown         int32 // or -1
	fuse            bool
	ignoreMerges    bool // a piece that is a token is not merged
	fallback        bool
	wordPiece       *wordPiece // nil for a BPE
	prefix          []int32    // added by the post-processor
	suffix          []int32
}

// A mergeResult is the token that two tokens become, and the rank of the merge.
type mergeResult struct{ rank, id int32 }

// pairBytes is about the size of a pair in a map.
const pairBytes = 48

// prepare builds the encoder.
func (t *JSON) prepare(b *limits.Budget) (err error) {
	if t.encoder != nil {
		return nil
	}
	if t.Type != "BPE" && t.Type != "WordPiece" {
		return wire.ErrUnsupported.Errorf("texts are encoded with BPE and WordPiece only, not with %s", wire.Quote(t.Type))
	}
	e := &encoder{t: t, pairs: map[[2]int32]mergeResult{}, unknown: -1}
	if e.normal, err = flatten(b, t.Rest.Get("normalizer"), "normalizers", 0, newNormalizer); err != nil {
		return err
	}
	if e.cuts, err = flatten(b, t.Rest.Get("pre_tokenizer"), "pretokenizers", 0, newPreTokenizer); err != nil {
		return err
	}
	if t.surround != nil {
		e.prefix, e.suffix = t.surround.prefix, t.surround.suffix
	} else if err := e.postProcessor(b, t.Rest.Get("post_processor"), 0); err != nil {
		return err
	}
	for _, a := range t.Added {
		list := &e.rawAdded
		if a.Normalized {
			list = &e.normalizedAdded
			if a.Text, err = e.normalize(b, a.Text); err != nil {
				return err
			}
		}
		if *list, err = limits.Append(b, *list, a); err != nil {
			return err
		}
	}
	if t.Type == "WordPiece" {
		if e.wordPiece, e.unknown, err = newWordPiece(t, t.Model); err == nil {
			t.encoder = e
		}
		return err
	}
	if err := e.options(t.Model); err != nil {
		return err
	}
	if err := e.ranks(b); err != nil {
		return err
	}
	t.encoder = e
	return nil
}

func (e *encoder) options(m jsontree.Value) error {
	for _, name := range []string{"continuing_subword_prefix", "end_of_word_suffix"} {
		if m.Get(name).String() != "" {
			return wire.ErrUnsupported.Errorf("%s in a BPE", name)
		}
	}
	if f, ok := m.Get("dropout").Float(); ok && f != 0 {
		return wire.ErrUnsupported.Errorf("a BPE that drops merges at random")
	}
	e.ignoreMerges, e.fallback, e.fuse = m.Get("ignore_merges").True(), m.Get("byte_fallback").True(), m.Get("fuse_unk").True()
	if unk := m.Get("unk_token"); unk.IsString() {
		id, ok := e.t.find(unk.String())
		if !ok {
			return wire.ErrMismatch.Errorf("the unknown token %s is not in the vocabulary", wire.Quote(unk.String()))
		}
		e.unknown = id
	}
	return nil
}

// ranks builds the map of merges.
func (e *encoder) ranks(b *limits.Budget) error {
	for i, m := range e.t.Merges {
		if err := b.Hold(pairBytes); err != nil {
			return err
		}
		pair, id, err := e.t.mergeTokens(i, m)
		if err != nil {
			return err
		}
		e.pairs[pair] = mergeResult{int32(i), id}
	}
	return nil
}

// mergeTokens returns the tokens of a merge's parts, and of its result.
func (t *JSON) mergeTokens(i int, m Merge) (pair [2]int32, id int32, err error) {
	a, okA := t.find(m.A)
	c, okB := t.find(m.B)
	id, ok := t.find(m.A + m.B)
	if !okA || !okB || !ok {
		err = wire.ErrMismatch.Errorf("merge %d joins texts that are not in the vocabulary", i)
	}
	return [2]int32{a, c}, id, err
}

// Joins refuses a vocabulary that lacks a token of a merge, as the library does.
func (t *JSON) Joins(b *limits.Budget) error {
	for i, m := range t.Merges {
		if err := b.Step(1); err != nil {
			return err
		}
		if _, _, err := t.mergeTokens(i, m); err != nil {
			return err
		}
	}
	return nil
}

// postProcessor reads what the post-processor adds to a text.
func (e *encoder) postProcessor(b *limits.Budget, v jsontree.Value, depth int) error {
	kind := v.Get("type").String()
	// A processor puts its tokens around those of all before it.
	around := int64(1 + len(e.prefix) + len(e.suffix))
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
			if err := e.postProcessor(b, one, depth+1); err != nil {
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
		e.prefix, e.suffix = append([]int32{cls}, e.prefix...), append(e.suffix, sep)
		return err
	case kind == "TemplateProcessing":
		return e.template(b, v)
	}
	return wire.ErrUnsupported.Errorf("the post-processor %s", wire.Quote(kind))
}

// template reads the tokens around the sequence A.
func (e *encoder) template(b *limits.Budget, v jsontree.Value) error {
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
	e.prefix, e.suffix = slices.Concat(front, e.prefix), slices.Concat(e.suffix, back)
	return nil
}

func (e *encoder) normalize(b *limits.Budget, text string) (string, error) {
	was := len(text)
	for _, s := range e.normal {
		if err := b.Hold(int64(len(text))); err != nil {
			return "", err
		}
		var err error
		if text, err = s(b, text); err == nil {
			err = checkGrowth(was, len(text))
		}
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// Encode returns the tokens of a text, as the library's encode does with its
// post-processor.
func (t *JSON) Encode(b *limits.Budget, text string) (ids []int32, err error) {
	if err := t.prepare(b); err != nil {
		return nil, err
	}
	e := t.encoder
	out := slices.Clone(e.prefix)
	if out, err = encodeAdded(b, out, text, e.rawAdded, true, e.encodeText); err != nil {
		return nil, err
	}
	for _, id := range e.suffix {
		if out, err = limits.Append(b, out, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodeText encodes a text without added tokens of the first kind.
func (e *encoder) encodeText(b *limits.Budget, out []int32, text string, first bool) ([]int32, error) {
	text, err := e.normalize(b, text)
	if err != nil {
		return nil, err
	}
	return encodeAdded(b, out, text, e.normalizedAdded, first, e.encodeWords)
}

// encodeAdded appends the added tokens in a text, and encodes what is between them. first
// says that the text begins the input.
func encodeAdded(b *limits.Budget, out []int32, text string, added []Added, first bool, encode func(*limits.Budget, []int32, string, bool) ([]int32, error)) ([]int32, error) {
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

// encodeWords encodes a normalized text without added tokens.
func (e *encoder) encodeWords(b *limits.Budget, out []int32, text string, first bool) (_ []int32, err error) {
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
		if out, err = e.encodeWord(b, out, w); err != nil {
			return nil, err
		}
	}
	return out, nil
}
