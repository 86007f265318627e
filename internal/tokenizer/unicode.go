package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A runTable maps characters to numbers: all characters from a start to the next one have
// the same.
type runTable struct {
	starts []rune
	kinds  []uint8
}

// readRuns reads a table: for each run its length in hexadecimal and its number, as a
// letter from G on, or in hexadecimal between two points.
func readRuns(table string) (r runTable) {
	at := rune(0)
	for table != "" {
		n := strings.IndexFunc(table, func(c rune) bool { return c == '.' || c >= 'G' && c <= 'Z' })
		count, kind, size := parseHex(table[:n]), int(table[n])-'G', n+1
		if table[n] == '.' {
			end := n + 1 + strings.IndexByte(table[n+1:], '.')
			kind, size = int(parseHex(table[n+1:end])), end+1
		}
		r.starts, r.kinds = append(r.starts, at), append(r.kinds, uint8(kind))
		at, table = at+count, table[size:]
	}
	return r
}

func parseHex(text string) rune {
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		panic("internal error: a table of characters: " + text)
	}
	return rune(n)
}

func (r *runTable) lookup(c rune) uint8 {
	i, exact := slices.BinarySearch(r.starts, c)
	if !exact {
		i--
	}
	return r.kinds[i]
}

// readRanges reads ranges in hexadecimal, separated by spaces.
func readRanges(table string) (list [][2]rune) {
	for one := range strings.FieldsSeq(table) {
		from, to, more := strings.Cut(one, "-")
		if !more {
			to = from
		}
		list = append(list, [2]rune{parseHex(from), parseHex(to)})
	}
	return list
}

var (
	categories    = sync.OnceValue(func() runTable { return readRuns(categoryRuns) })
	scripts       = sync.OnceValue(func() runTable { return readRuns(scriptRuns) })
	exprWords     = sync.OnceValue(func() [][2]rune { return readRanges(exprWord) })
	cutWords      = sync.OnceValue(func() [][2]rune { return readRanges(cutWord) })
	cutDigits     = sync.OnceValue(func() [][2]rune { return readRanges(cutDigit) })
	accentRanges  = sync.OnceValue(func() [][2]rune { return readRanges(stripAccents) })
	lowercaseMap  = sync.OnceValue(func() map[rune]string { return readPairs(lowercase) })
	caseFolds     = sync.OnceValue(readFolds)
	longCaseFolds = sync.OnceValue(func() map[rune]string { return readPairs(foldedLong) })
)

func categoryOf(r rune) uint8 { c := categories(); return c.lookup(r) }
func scriptsOf(r rune) uint8  { s := scripts(); return s.lookup(r) }

// readFolds maps each character to those that are equal if case is ignored, itself
// included.
func readFolds() map[rune]string {
	m := map[rune]string{}
	for line := range strings.SplitSeq(folded, "\n") {
		for _, r := range line {
			m[r] = line
		}
	}
	return m
}

// categoryMask returns the categories of a name of one letter or two.
func categoryMask(name string) (mask uint32, ok bool) {
	for i, c := range categoryNames {
		if c == name || len(name) == 1 && c[:1] == name {
			mask |= 1 << (i + 1)
		}
	}
	return mask, mask != 0
}

// inRanges reports a character in one of the sorted ranges.
func inRanges(ranges [][2]rune, r rune) bool {
	i, _ := slices.BinarySearchFunc(ranges, r, func(x [2]rune, r rune) int {
		if x[1] < r {
			return -1
		}
		return 1
	})
	return i < len(ranges) && ranges[i][0] <= r
}

// readPairs reads characters and what each becomes.
func readPairs(text string) map[rune]string {
	m := map[rune]string{}
	for line := range strings.SplitSeq(text, "\n") {
		r, n := utf8.DecodeRuneInString(line)
		m[r] = line[n:]
	}
	return m
}

func isSpace(r rune) bool { return unicode.Is(unicode.White_Space, r) }

// lower returns a text in lower case, character by character.
func lower(text string) string {
	var out strings.Builder
	for _, r := range text {
		if l, ok := lowercaseMap()[r]; ok {
			out.WriteString(l)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
