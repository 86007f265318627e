package tokenizer

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A step changes a text.
type step func(b *limits.Budget, text string) (string, error)

// normalizer builds one step.
func normalizer(b *limits.Budget, kind string, v jsontree.Value) (step, error) {
	if f, ok := formNames[kind]; ok {
		return f.normal, nil
	}
	switch kind {
	case "Lowercase":
		return lowerStep, nil
	case "BertNormalizer":
		return bertNormalizer(v), nil
	case "StripAccents":
		return func(b *limits.Budget, text string) (string, error) {
			if err := b.Step(int64(len(text))); err != nil {
				return "", err
			}
			return strings.Map(func(r rune) rune {
				if within(marks(), r) {
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
			if text != "" {
				text = v.Get("prepend").String() + text
			}
			return text, nil
		}, nil
	case "Replace":
		return replacer(b, v)
	}
	return nil, wire.ErrUnsupported.With("the normalizer %s", wire.Quote(kind))
}

// lowerStep is a text in lower case.
func lowerStep(b *limits.Budget, text string) (string, error) {
	if err := b.Hold(2 * int64(len(text))); err != nil {
		return "", err
	}
	return lower(text), b.Step(int64(len(text)))
}

func replacer(b *limits.Budget, v jsontree.Value) (step, error) {
	content := v.Get("content").String()
	if plain := v.At("pattern.String"); plain.IsString() {
		return func(b *limits.Budget, text string) (string, error) {
			if plain.String() == "" {
				return text, nil
			}
			n := int64(strings.Count(text, plain.String())) * int64(len(content))
			if err := b.Hold(n + int64(len(text))); err != nil {
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
