package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/limits"
)

// The numbers of Hangul, from Unicode's chapter 3.12.
const (
	hangul, leads, vowels, tails     = 0xAC00, 0x1100, 0x1161, 0x11A7
	leadCount, vowelCount, tailCount = 19, 21, 28
	hangulCount                      = leadCount * vowelCount * tailCount
)

var (
	canonicalParts   = sync.OnceValue(func() map[rune]string { return readPairs(canonical) })
	compatibleParts  = sync.OnceValue(func() map[rune]string { return readPairs(compatible) })
	composition      = sync.OnceValue(readComposed)
	combiningClasses = sync.OnceValue(readClasses)
)

// readComposed maps two characters to the one that they compose.
func readComposed() map[[2]rune]rune {
	m := map[[2]rune]rune{}
	for line := range strings.SplitSeq(composed, "\n") {
		r := []rune(line)
		m[[2]rune{r[1], r[2]}] = r[0]
	}
	return m
}

// readClasses maps combining characters to their classes.
func readClasses() map[rune]uint8 {
	m := map[rune]uint8{}
	for line := range strings.SplitSeq(combining, "\n") {
		number, chars, _ := strings.Cut(line, " ")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil {
			panic("internal error: a table of classes: " + number)
		}
		for _, r := range chars {
			m[r] = uint8(n)
		}
	}
	return m
}

// A form is one of Unicode's normalization forms.
type form struct{ compatible, compose bool }

var formNames = map[string]form{"NFC": {false, true}, "NFD": {false, false}, "NFKC": {true, true}, "NFKD": {true, false}}

// apply returns a text in the form. A character becomes 18 at most; the text is charged.
func (f form) apply(b *limits.Budget, text string) (string, error) {
	if isASCII(text) {
		return text, nil
	}
	if err := b.Step(int64(4 * len(text))); err != nil {
		return "", err
	}
	var out []rune
	var err error
	put := func(r rune) {
		if err == nil {
			out, err = limits.Append(b, out, r)
		}
	}
	for _, r := range text {
		if s := r - hangul; s >= 0 && s < hangulCount {
			put(leads + s/(vowelCount*tailCount))
			put(vowels + s/tailCount%vowelCount)
			if s%tailCount > 0 {
				put(tails + s%tailCount)
			}
			continue
		}
		parts, ok := compatibleParts()[r]
		if !ok || !f.compatible {
			parts, ok = canonicalParts()[r]
		}
		if !ok {
			put(r)
			continue
		}
		for _, p := range parts {
			put(p)
		}
	}
	if err == nil {
		err = sortMarks(b, out)
	}
	if err != nil {
		return "", err
	}
	if f.compose {
		out = compose(out)
	}
	if err := b.Hold(int64(utf8.UTFMax * len(out))); err != nil {
		return "", err
	}
	return string(out), nil
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sortMarks sorts consecutive combining characters by their classes.
func sortMarks(b *limits.Budget, text []rune) error {
	class := combiningClasses()
	for from := 0; from < len(text); {
		if class[text[from]] == 0 {
			from++
			continue
		}
		to := from
		for to < len(text) && class[text[to]] > 0 {
			to++
		}
		n := int64(to - from)
		if n > 1 {
			if err := b.Step(n * int64(bitLen(n))); err != nil {
				return err
			}
			slices.SortStableFunc(text[from:to], func(x, y rune) int { return int(class[x]) - int(class[y]) })
		}
		from = to
	}
	return nil
}

func bitLen(n int64) (k int) {
	for ; n > 0; n >>= 1 {
		k++
	}
	return k
}

// compose composes characters in place: a starter is composed with each following
// character that is not separated from it by one of the same class or a higher one.
func compose(text []rune) []rune {
	class := combiningClasses()
	starter, last, n := -1, uint8(0), 0
	for _, r := range text {
		c := class[r]
		if starter >= 0 && (last < c || n == starter+1) {
			if made, ok := composePair(text[starter], r); ok {
				text[starter] = made
				continue
			}
		}
		if c == 0 {
			starter = n
		}
		last = c
		text[n] = r
		n++
	}
	return text[:n]
}

// composePair returns what two characters compose.
func composePair(a, c rune) (rune, bool) {
	if l, v := a-leads, c-vowels; l >= 0 && l < leadCount && v >= 0 && v < vowelCount {
		return hangul + (l*vowelCount+v)*tailCount, true
	}
	if s, t := a-hangul, c-tails; s >= 0 && s < hangulCount && s%tailCount == 0 && t > 0 && t < tailCount {
		return a + t, true
	}
	r, ok := composition()[[2]rune{a, c}]
	return r, ok
}
