package tokenizer

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A normalizeFunc changes a text.
type normalizeFunc func(b *limits.Budget, text string) (string, error)

// maxGrowth is how many times as long a text may become: a space that becomes ▁ is three
// times as long, and what Unicode's forms make of one character eleven times. A text of
// few bytes may also have a beginning put before it.
const (
	// maxGrowth bounds the factor by which a text may grow: ▁ is three times as long as a
	// space, and Unicode's forms make up to eleven bytes of one. maxBefore allows a prefix
	// before a short text.
	maxGrowth = 64
	maxBefore = 4096
)

// checkGrowth refuses a text that normalizers lengthen beyond what any vocabulary needs: a
// chain of them could double it again and again.
func checkGrowth(was, is int) error {
	if is > maxGrowth*was+maxBefore {
		return wire.ErrUnsupported.Errorf("normalizers that make more than %d bytes from %d", maxGrowth*was+maxBefore, was)
	}
	return nil
}

// newNormalizer builds one normalizer.
func newNormalizer(b *limits.Budget, kind string, v jsontree.Value) (normalizeFunc, error) {
	if f, ok := formNames[kind]; ok {
		return f.apply, nil
	}
	switch kind {
	case "Lowercase":
		return lowerText, nil
	case "BertNormalizer":
		return bertNormalizer(v), nil
	case "StripAccents":
		return func(b *limits.Budget, text string) (string, error) {
			if err := b.Step(int64(len(text))); err != nil {
				return "", err
			}
			return strings.Map(func(r rune) rune {
				if inRanges(accentRanges(), r) {
					return -1
				}
				return r
			}, text), nil
		}, nil
	case "Strip":
		return func(_ *limits.Budget, text string) (string, error) {
			if v.Get("strip_left").True() {
				text = strings.TrimLeftFunc(text, isSpace)
			}
			if v.Get("strip_right").True() {
				text = strings.TrimRightFunc(text, isSpace)
			}
			return text, nil
		}, nil
	case "Prepend":
		return func(_ *limits.Budget, text string) (string, error) {
			before := v.Get("prepend").String()
			if text == "" {
				return text, nil
			}
			if err := checkGrowth(len(text), len(before)+len(text)); err != nil {
				return "", err
			}
			return before + text, nil
		}, nil
	case "Replace":
		return replacer(b, v)
	}
	return nil, wire.ErrUnsupported.Errorf("the normalizer %s", wire.Quote(kind))
}

// lowerText returns a text in lower case.
func lowerText(b *limits.Budget, text string) (string, error) {
	if err := b.Hold(2 * int64(len(text))); err != nil {
		return "", err
	}
	return lower(text), b.Step(int64(len(text)))
}

// replacer builds a Replace.
func replacer(b *limits.Budget, v jsontree.Value) (normalizeFunc, error) {
	content := v.Get("content").String()
	if plain := v.At("pattern.String"); plain.IsString() {
		return func(b *limits.Budget, text string) (string, error) {
			if plain.String() == "" {
				return text, nil
			}
			n := strings.Count(text, plain.String()) * len(content)
			if err := checkGrowth(len(text), n); err != nil {
				return "", err
			}
			if err := b.Hold(int64(n) + int64(len(text))); err != nil {
				return "", err
			}
			return strings.ReplaceAll(text, plain.String(), content), nil
		}, nil
	}
	p, err := compile(b, v.At("pattern.Regex").String())
	return func(b *limits.Budget, text string) (string, error) {
		runes, err := runesOf(b, text)
		if err != nil {
			return "", err
		}
		parts, err := p.parts(b, runes)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		for _, x := range parts {
			if x.match {
				if err := checkGrowth(len(text), out.Len()+len(content)); err != nil {
					return "", err
				}
				if err := b.Hold(int64(len(content))); err != nil {
					return "", err
				}
				out.WriteString(content)
			} else {
				out.WriteString(string(runes[x.from:x.to]))
			}
		}
		return out.String(), nil
	}, err
}
