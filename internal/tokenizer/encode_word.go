package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A segment is an added token, or a text between added tokens with the id -1.
type segment struct {
	text string
	id   int32
}

// cutAdded cuts out added tokens: the first in the text, of those the longest.
func cutAdded(b *limits.Budget, text string, added []Added) ([]segment, error) {
	var list []segment
	var err error
	put := func(f segment) {
		if err == nil && (f.id >= 0 || f.text != "") {
			list, err = limits.Append(b, list, f)
		}
	}
	cost := int64(1 + len(added)/8)
	for i := range added {
		cost += int64(min(len(added[i].Text), len(text)) / 64) // of comparing it
	}
	last := 0
	for at := 0; at < len(text) && err == nil; {
		if err := b.Step(cost); err != nil {
			return nil, err
		}
		var best *Added
		for i := range added {
			if a := &added[i]; strings.HasPrefix(text[at:], a.Text) && (best == nil || len(a.Text) > len(best.Text)) {
				best = a
			}
		}
		if best == nil || best.Text == "" || best.Word && !isWholeWord(text, at, at+len(best.Text)) {
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
		put(segment{text[last:from], -1})
		put(segment{"", best.ID})
		at, last = to, to
	}
	put(segment{text[last:], -1})
	return list, err
}

// isWholeWord reports whether neither neighbor of a range is a word character.
func isWholeWord(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return (from == 0 || !isWord(before)) && (to == len(text) || !isWord(after))
}

func isWord(r rune) bool { return inRanges(cutWords(), r) }

// encodeWord merges one piece: the pair of the lowest rank first, of equal ones the first.
func (e *encoder) encodeWord(b *limits.Budget, out []int32, w string) ([]int32, error) {
	if e.wordPiece != nil {
		return e.encodeWordPiece(b, out, w)
	}
	if id, ok := e.t.find(w); ok && e.ignoreMerges {
		return limits.Append(b, out, id)
	}
	ids, err := e.initialTokens(b, w)
	if err != nil {
		return nil, err
	}
	for len(ids) > 1 {
		if err := b.Step(int64(len(ids))); err != nil {
			return nil, err
		}
		best, at := mergeResult{rank: -1}, 0
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

// initialTokens returns the tokens before merging, one for each character.
func (e *encoder) initialTokens(b *limits.Budget, w string) (ids []int32, err error) {
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
		if bytes, ok := e.byteTokens(text); ok {
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

// byteTokens returns the tokens of a character's bytes, if the vocabulary has them all.
func (e *encoder) byteTokens(text string) ([]int32, bool) {
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
