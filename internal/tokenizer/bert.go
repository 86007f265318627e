package tokenizer

import (
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// within reports a character that is in one of the ranges, which are in order.
func within(ranges [][2]rune, r rune) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i][1] >= r })
	return i < len(ranges) && ranges[i][0] <= r
}

// pairsOf reads a list of characters and what each becomes.
func pairsOf(text string) map[rune]string {
	m := map[rune]string{}
	for line := range strings.SplitSeq(text, "\n") {
		r, n := utf8.DecodeRuneInString(line)
		m[r] = line[n:]
	}
	return m
}

var (
	unaccented = sync.OnceValue(func() map[rune]string { return pairsOf(bertBase) })
	lowered    = sync.OnceValue(func() map[rune]string { return pairsOf(bertLower) })
)

// bertNormalizer cleans a text as BERT does: a character becomes none, one or a few,
// whatever stands beside it.
func bertNormalizer(v jsontree.Value) step {
	on := func(name string) bool {
		truth, ok := v.Get(name).Bool()
		return truth || !ok
	}
	clean, chinese, lower := on("clean_text"), on("handle_chinese_chars"), on("lowercase")
	strip := lower
	if truth, ok := v.Get("strip_accents").Bool(); ok {
		strip = truth
	}
	return func(b *limits.Budget, text string) (string, error) {
		if err := b.Hold(4 * int64(len(text))); err != nil {
			return "", err
		}
		if err := b.Step(int64(len(text))); err != nil {
			return "", err
		}
		var out strings.Builder
		for _, r := range text {
			switch {
			case clean && within(bertGone, r):
				continue
			case clean && isSpace(r):
				r = ' '
			}
			if chinese && within(bertWide, r) {
				out.WriteByte(' ')
				bertLetter(&out, r, strip, lower)
				out.WriteByte(' ')
				continue
			}
			bertLetter(&out, r, strip, lower)
		}
		return out.String(), nil
	}
}

// The numbers of Hangul, from Unicode's chapter 3.12.
const (
	hangul, leads, vowels, tails = 0xAC00, 0x1100, 0x1161, 0x11A7
	hangulEnd                    = 0xD7A3
	tailCount, vowelCount        = 28, 21
)

// bertLetter writes a character without its accents, in lower case.
func bertLetter(out *strings.Builder, r rune, strip, lower bool) {
	put := func(r rune) {
		if text, ok := lowered()[r]; lower && ok {
			out.WriteString(text)
			return
		}
		if lower {
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	if !strip {
		put(r)
		return
	}
	if within(bertMarks, r) {
		return
	}
	if r >= hangul && r <= hangulEnd {
		n := r - hangul
		put(leads + n/tailCount/vowelCount)
		put(vowels + n/tailCount%vowelCount)
		if n%tailCount > 0 {
			put(tails + n%tailCount)
		}
		return
	}
	if text, ok := unaccented()[r]; ok {
		for _, one := range text {
			put(one)
		}
		return
	}
	put(r)
}

// bertCut cuts at spaces, which go, and around each point.
func bertCut(b *limits.Budget, text string, _ bool) (list []string, err error) {
	if err := b.Step(int64(len(text))); err != nil {
		return nil, err
	}
	put := func(s string) {
		if err == nil && s != "" {
			list, err = limits.Append(b, list, s)
		}
	}
	from := 0
	for at, r := range text {
		space, point := isSpace(r), within(bertPoints, r)
		if !space && !point {
			continue
		}
		put(text[from:at])
		from = at + utf8.RuneLen(r)
		if point {
			put(text[at:from])
		}
	}
	put(text[from:])
	return list, err
}
