package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A preTokenizer cuts a text into pieces. first says that the text begins the input.
type preTokenizer func(b *limits.Budget, text string, first bool) ([]string, error)

// flatten builds the members of a Sequence, nested ones too, or v if it is not a Sequence.
// name is the member that has a Sequence's list.
func flatten[T any](b *limits.Budget, v jsontree.Value, name string, depth int, build func(*limits.Budget, string, jsontree.Value) (T, error)) ([]T, error) {
	kind := v.Get("type").String()
	switch {
	case !v.There:
		return nil, nil
	case depth > maxNesting:
		return nil, wire.ErrUnsupported.Errorf("nested sequences, more than %d deep", maxNesting)
	case kind != "Sequence":
		one, err := build(b, kind, v)
		return []T{one}, err
	}
	var list []T
	for _, one := range v.Get(name).List() {
		more, err := flatten(b, one, name, depth+1, build)
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if list, err = limits.Append(b, list, c); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// gpt2Pattern is ByteLevel's expression, from OpenAI's encoder.py.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func newPreTokenizer(b *limits.Budget, kind string, v jsontree.Value) (preTokenizer, error) {
	switch kind {
	case "ByteLevel":
		return byteLevel(b, v)
	case "Split":
		expr := v.At("pattern.Regex").String()
		if plain := v.At("pattern.String"); plain.IsString() {
			expr = quoteRegex(plain.String())
		}
		return split(b, expr, v.Get("behavior").String(), v.Get("invert").True())
	case "Digits":
		behavior := "Contiguous"
		if v.Get("individual_digits").True() {
			behavior = "Isolated"
		}
		return splitBy(func(r rune) bool { return inRanges(cutDigits(), r) }, behavior)
	case "Punctuation":
		behavior := "Isolated"
		if s := v.Get("behavior"); s.IsString() {
			behavior = s.String()
		}
		return splitBy(func(r rune) bool { return inRanges(bertPoints, r) }, behavior)
	case "Whitespace":
		return whitespace, nil
	case "WhitespaceSplit":
		return splitBy(isSpace, "Removed")
	case "BertPreTokenizer":
		return bertCut, nil
	case "Metaspace":
		return metaspace(b, v)
	}
	return nil, wire.ErrUnsupported.Errorf("the pre-tokenizer %s", wire.Quote(kind))
}

// quoteRegex returns an expression that matches one text.
func quoteRegex(text string) string {
	var s strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			s.WriteByte('\\')
		}
		s.WriteRune(r)
	}
	return s.String()
}

// split cuts by the matches of an expression, or with invert by what lies between.
func split(b *limits.Budget, expr, behavior string, invert bool) (preTokenizer, error) {
	p, err := compile(b, expr)
	if err != nil {
		return nil, err
	}
	if err := checkBehavior(behavior); err != nil {
		return nil, err
	}
	return func(b *limits.Budget, text string, _ bool) ([]string, error) {
		runes, err := runesOf(b, text)
		if err != nil {
			return nil, err
		}
		parts, err := p.parts(b, runes)
		if err != nil {
			return nil, err
		}
		for i := range parts {
			parts[i].match = parts[i].match != invert
		}
		return partTexts(b, runes, parts, behavior)
	}, nil
}

// mergeParts merges matches with their neighbors, as the behavior says.
func mergeParts(parts []part, behavior string) []part {
	out := parts[:0]
	before := false // the part before, as it was, is a match
	for i, x := range parts {
		n := len(out)
		merge := false
		switch behavior {
		case "MergedWithPrevious":
			merge = x.match && i > 0 && !before
		case "MergedWithNext":
			merge = !x.match && i > 0 && before
		case "Contiguous":
			merge = i > 0 && before == x.match
		}
		before = x.match
		if merge {
			out[n-1].to = x.to
			continue
		}
		out = append(out, x)
	}
	return out
}

// byteLevel cuts as GPT-2 does, and replaces each byte by a character.
func byteLevel(b *limits.Budget, v jsontree.Value) (preTokenizer, error) {
	cut := preTokenizer(func(_ *limits.Budget, text string, _ bool) ([]string, error) { return []string{text}, nil })
	if use, ok := v.Get("use_regex").Bool(); use || !ok {
		var err error
		if cut, err = split(b, gpt2Pattern, "Isolated", false); err != nil {
			return nil, err
		}
	}
	prefix := v.Get("add_prefix_space").True()
	return func(b *limits.Budget, text string, first bool) ([]string, error) {
		if r, _ := utf8.DecodeRuneInString(text); prefix && text != "" && !isSpace(r) {
			text = " " + text
		}
		list, err := cut(b, text, first)
		for i := range list {
			if list[i], err = toByteChars(b, list[i]); err != nil {
				return nil, err
			}
		}
		return list, err
	}, nil
}

// metaspace replaces spaces by a mark and cuts before each.
func metaspace(b *limits.Budget, v jsontree.Value) (preTokenizer, error) {
	mark := v.Get("replacement").String()
	scheme := v.Get("prepend_scheme").String()
	if scheme == "" {
		scheme = "always"
		if add, ok := v.Get("add_prefix_space").Bool(); ok && !add {
			scheme = "never"
		}
	}
	if utf8.RuneCountInString(mark) != 1 {
		return nil, wire.ErrUnsupported.Errorf("a Metaspace of %s", wire.Quote(mark))
	}
	cut := preTokenizer(func(_ *limits.Budget, text string, _ bool) ([]string, error) { return []string{text}, nil })
	if do, ok := v.Get("split").Bool(); do || !ok {
		var err error
		if cut, err = split(b, quoteRegex(mark), "MergedWithNext", false); err != nil {
			return nil, err
		}
	}
	return func(b *limits.Budget, text string, first bool) ([]string, error) {
		if err := b.Hold(int64(len(text)) * int64(len(mark))); err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, " ", mark)
		if (scheme == "always" || scheme == "first" && first) && !strings.HasPrefix(text, mark) {
			text = mark + text
		}
		return cut(b, text, first)
	}, nil
}

// byteChars are the characters that stand for bytes: printable ones for themselves, the
// others from U+0100, as in GPT-2's encoder.py.
var byteChars, charBytes = func() (to [256]rune, from map[rune]byte) {
	from = map[rune]byte{}
	next := rune(0x100)
	for c := range 256 {
		r := rune(c)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®' && r <= 'ÿ') {
			r = next
			next++
		}
		to[c], from[r] = r, byte(c)
	}
	return to, from
}()

// toByteChars replaces each byte of a text by its character.
func toByteChars(b *limits.Budget, text string) (string, error) {
	if err := b.Hold(2 * int64(len(text))); err != nil {
		return "", err
	}
	var s strings.Builder
	for i := range len(text) {
		s.WriteRune(byteChars[text[i]])
	}
	return s.String(), nil
}

// FromBytes returns the text whose bytes the characters stand for, as ByteLevel's decoder
// does; ok is false if a character stands for no byte.
func FromBytes(text string) (out string, ok bool) {
	var s strings.Builder
	for _, r := range text {
		c, ok := charBytes[r]
		if !ok {
			return "", false
		}
		s.WriteByte(c)
	}
	return strings.ToValidUTF8(s.String(), "�"), true
}

// splitBy cuts by single characters.
func splitBy(is func(rune) bool, behavior string) (preTokenizer, error) {
	if err := checkBehavior(behavior); err != nil {
		return nil, err
	}
	return func(b *limits.Budget, text string, _ bool) ([]string, error) {
		var parts []part
		runes, err := runesOf(b, text)
		last := 0
		put := func(x part) {
			if err == nil && x.from < x.to {
				parts, err = limits.Append(b, parts, x)
			}
		}
		for at, r := range runes {
			if is(r) {
				put(part{last, at, false})
				put(part{at, at + 1, true})
				last = at + 1
			}
		}
		put(part{last, len(runes), false})
		if err != nil {
			return nil, err
		}
		return partTexts(b, runes, parts, behavior)
	}, nil
}

// whitespace returns words, and sequences of characters that are neither word nor space.
func whitespace(b *limits.Budget, text string, _ bool) ([]string, error) {
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case isSpace(r):
			return 0
		}
		return 2
	}
	runes, err := runesOf(b, text)
	if err != nil {
		return nil, err
	}
	var list []string
	for from := 0; from < len(runes); {
		k, to := kind(runes[from]), from+1
		for to < len(runes) && kind(runes[to]) == k {
			to++
		}
		if k > 0 {
			if list, err = limits.Append(b, list, string(runes[from:to])); err != nil {
				return nil, err
			}
		}
		from = to
	}
	return list, nil
}

// runesOf returns the characters of a text, charged to the account.
func runesOf(b *limits.Budget, text string) ([]rune, error) {
	if err := b.Step(int64(len(text))); err != nil {
		return nil, err
	}
	return []rune(text), b.Hold(4 * int64(len(text)))
}

// checkBehavior refuses an unknown behavior of a split.
func checkBehavior(behavior string) error {
	switch behavior {
	case "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous":
		return nil
	}
	return wire.ErrUnsupported.Errorf("the behavior %s of a split", wire.Quote(behavior))
}

// partTexts returns the texts of parts, merged as the behavior says.
func partTexts(b *limits.Budget, runes []rune, parts []part, behavior string) (list []string, err error) {
	for _, x := range mergeParts(parts, behavior) {
		if behavior == "Removed" && x.match {
			continue
		}
		if list, err = limits.Append(b, list, string(runes[x.from:x.to])); err != nil {
			return nil, err
		}
	}
	return list, nil
}
