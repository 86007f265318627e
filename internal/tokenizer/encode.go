package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	front    []int32 // what the post-processor adds
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
	if t.Type != "BPE" {
		return wire.ErrUnsupported.With("a text is encoded with BPE only, not with %s", wire.Quote(t.Type))
	}
	e := &bpe{t: t, pairs: map[[2]int32]merged{}, unknown: -1}
	if e.normal, err = inOrder(b, t.Rest.Get("normalizer"), "normalizers", 0, normalizer); err != nil {
		return err
	}
	if e.cuts, err = inOrder(b, t.Rest.Get("pre_tokenizer"), "pretokenizers", 0, newCutter); err != nil {
		return err
	}
	if err := e.posts(b, t.Rest.Get("post_processor"), 0); err != nil {
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
			return wire.ErrUnsupported.With("%s in a BPE", name)
		}
	}
	if f, ok := m.Get("dropout").Float(); ok && f != 0 {
		return wire.ErrUnsupported.With("a BPE that drops merges at random")
	}
	e.whole, e.fallback, e.fuse = m.Get("ignore_merges").True(), m.Get("byte_fallback").True(), m.Get("fuse_unk").True()
	if unk := m.Get("unk_token"); unk.IsString() {
		id, ok := e.t.find(unk.String())
		if !ok {
			return wire.ErrMismatch.With("the unknown token %s is not in the vocabulary", wire.Quote(unk.String()))
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
		a, okA := e.t.find(m.A)
		c, okB := e.t.find(m.B)
		id, ok := e.t.find(m.A + m.B)
		if !okA || !okB || !ok {
			return wire.ErrMismatch.With("merge %d is of texts that are not in the vocabulary", i)
		}
		e.pairs[[2]int32{a, c}] = merged{int32(i), id}
	}
	return nil
}

// posts finds what the post-processor adds to one text.
func (e *bpe) posts(b *limits.Budget, v jsontree.Value, depth int) error {
	kind := v.Get("type").String()
	special := func(name string) (int32, error) {
		id, ok := v.Get(name).List(), false
		if len(id) == 2 {
			n, is := id[1].Int()
			ok = is && n >= 0 && n <= maxID
			if ok {
				return int32(n), nil
			}
		}
		return 0, wire.ErrSyntax.With("%s of the post-processor is not a token and its number", name)
	}
	switch {
	case !v.There || kind == "ByteLevel":
		return nil
	case depth > maxNesting:
		return wire.ErrUnsupported.With("sequences in sequences, more than %d deep", maxNesting)
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
	return wire.ErrUnsupported.With("the post-processor %s", wire.Quote(kind))
}

// template reads what stands around the sequence A.
func (e *bpe) template(b *limits.Budget, v jsontree.Value) error {
	var front, back []int32
	list, passed := &front, false
	for _, one := range v.Get("single").List() {
		if one.Get("Sequence").There {
			if passed || one.At("Sequence.id").String() != "A" {
				return wire.ErrUnsupported.With("a template of more than one text")
			}
			list, passed = &back, true
			continue
		}
		name := one.At("SpecialToken.id").String()
		ids := v.Get("special_tokens").Get(name).Get("ids").List()
		if len(ids) == 0 {
			return wire.ErrMismatch.With("the template names the token %s, of which it gives no number", wire.Quote(name))
		}
		for _, id := range ids {
			n, ok := id.Int()
			if !ok || n < 0 || n > maxID {
				return wire.ErrRange.With("a number of a token in the template")
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
	for _, s := range e.normal {
		if err := b.Hold(int64(len(text))); err != nil {
			return "", err
		}
		var err error
		if text, err = s(b, text); err != nil {
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

// A found is an added token, or a text between such; its number is -1 then.
type found struct {
	text string
	id   int32
}

// cutAdded cuts added tokens out: the first in the text, of them the longest.
func cutAdded(b *limits.Budget, text string, added []Added) ([]found, error) {
	var list []found
	var err error
	put := func(f found) {
		if err == nil && (f.id >= 0 || f.text != "") {
			list, err = limits.Append(b, list, f)
		}
	}
	last := 0
	for at := 0; at < len(text) && err == nil; {
		if err := b.Step(int64(1 + len(added)/8)); err != nil {
			return nil, err
		}
		var best *Added
		for i := range added {
			if a := &added[i]; strings.HasPrefix(text[at:], a.Text) && (best == nil || len(a.Text) > len(best.Text)) {
				best = a
			}
		}
		if best == nil || best.Text == "" || best.Word && !alone(text, at, at+len(best.Text)) {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
			if best != nil && best.Text != "" {
				at += len(best.Text) - n
			}
			continue
		}
		from, to := at, at+len(best.Text)
		if best.Left {
			from = max(last, len(strings.TrimRightFunc(text[:from], isSpace)))
		}
		if best.Right {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], isSpace))
		}
		put(found{text[last:from], -1})
		put(found{"", best.ID})
		at, last = to, to
	}
	put(found{text[last:], -1})
	return list, err
}

// alone reports that neither neighbor of a range is a letter or digit.
func alone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return (from == 0 || !isWord(before)) && (to == len(text) || !isWord(after))
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Pc, r)
}

// word merges one piece: the pair of the lowest rank first, of several the first.
func (e *bpe) word(b *limits.Budget, out []int32, w string) ([]int32, error) {
	if id, ok := e.t.find(w); ok && e.whole {
		return limits.Append(b, out, id)
	}
	ids, err := e.letters(b, w)
	if err != nil {
		return nil, err
	}
	for len(ids) > 1 {
		if err := b.Step(int64(len(ids))); err != nil {
			return nil, err
		}
		best, at := merged{rank: -1}, 0
		for i := range len(ids) - 1 {
			if m, ok := e.pairs[[2]int32{ids[i], ids[i+1]}]; ok && (best.rank < 0 || m.rank < best.rank) {
				best, at = m, i
			}
		}
		if best.rank < 0 {
			break
		}
		ids[at] = best.id
		ids = slices.Delete(ids, at+1, at+2)
	}
	for _, id := range ids {
		if out, err = limits.Append(b, out, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// letters are the tokens that a piece begins with: one for each character.
func (e *bpe) letters(b *limits.Budget, w string) (ids []int32, err error) {
	put := func(id int32) {
		if err == nil {
			ids, err = limits.Append(b, ids, id)
		}
	}
	unknown := false
	for at, r := range w {
		text := w[at : at+utf8.RuneLen(r)]
		if id, ok := e.t.find(text); ok {
			put(id)
			unknown = false
			continue
		}
		if bytes, ok := e.bytes(text); ok {
			for _, id := range bytes {
				put(id)
			}
			unknown = false
			continue
		}
		if e.unknown >= 0 && !(e.fuse && unknown) {
			put(e.unknown)
		}
		unknown = true
	}
	return ids, err
}

// bytes are the tokens of a character's bytes, where the vocabulary has them all.
func (e *bpe) bytes(text string) ([]int32, bool) {
	var ids [utf8.UTFMax]int32
	for i := range len(text) {
		id, ok := e.t.find(fmt.Sprintf("<0x%02X>", text[i]))
		if !ok || !e.fallback {
			return nil, false
		}
		ids[i] = id
	}
	return ids[:len(text)], true
}
