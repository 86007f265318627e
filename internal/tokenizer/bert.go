package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/limits"
)

// bertNormalizer builds BERT's normalizer.
func bertNormalizer(v jsontree.Value) normalizeFunc {
	on := func(name string) bool {
		truth, ok := v.Get(name).Bool()
		return truth || !ok
	}
	clean, chinese, small := on("clean_text"), on("handle_chinese_chars"), on("lowercase")
	strip := small
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
			case clean && inRanges(bertGone, r):
			case clean && isSpace(r):
				out.WriteByte(' ')
			case chinese && inRanges(bertWide, r):
				out.WriteString(" " + string(r) + " ")
			default:
				out.WriteRune(r)
			}
		}
		text = out.String()
		if strip {
			var err error
			if text, err = (form{}).apply(b, text); err != nil {
				return "", err
			}
			text = strings.Map(dropAccent, text)
		}
		if small {
			return lowerText(b, text)
		}
		return text, nil
	}
}

// dropAccent is a function for strings.Map that drops accents.
func dropAccent(r rune) rune {
	if inRanges(bertMarks, r) {
		return -1
	}
	return r
}

// bertCut cuts at spaces, which are dropped, and around punctuation.
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
		space, point := isSpace(r), inRanges(bertPoints, r)
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
