package tokenizer

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A step changes a text.
type step func(b *limits.Budget, text string) (string, error)

// normalizer builds one step. The forms C and D leave the text that the caller
// gives as it is; see the package's documentation.
func normalizer(b *limits.Budget, kind string, v jsontree.Value) (step, error) {
	switch kind {
	case "NFC", "NFD":
		return func(_ *limits.Budget, text string) (string, error) { return text, nil }, nil
	case "NFKC", "NFKD":
		return func(_ *limits.Budget, text string) (string, error) { return fullwidth.Replace(text), nil }, nil
	case "Lowercase":
		return func(_ *limits.Budget, text string) (string, error) { return strings.ToLower(text), nil }, nil
	case "BertNormalizer":
		return bertNormalizer(v), nil
	case "StripAccents":
		return func(b *limits.Budget, text string) (string, error) {
			if err := b.Step(int64(len(text))); err != nil {
				return "", err
			}
			return strings.Map(func(r rune) rune {
				if within(bertMarks, r) {
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

// fullwidth is what compatibility makes of the one character of [Probe] that has
// such a form.
var fullwidth = strings.NewReplacer("～", "~")

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
		runes := []rune(text)
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
