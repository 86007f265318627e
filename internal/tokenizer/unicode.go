package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// runs are characters in order: from each start on, all have the same kind.
type runs struct {
	starts []rune
	kinds  []uint8
}

// readRuns reads a table: how many characters in hexadecimal, and their kind, a letter
// from G on, or a number between two points.
func readRuns(table string) (r runs) {
	at := rune(0)
	for table != "" {
		n := strings.IndexFunc(table, func(c rune) bool { return c == '.' || c >= 'G' && c <= 'Z' })
		count, kind, size := sixteen(table[:n]), int(table[n])-'G', n+1
		if table[n] == '.' {
			end := n + 1 + strings.IndexByte(table[n+1:], '.')
			kind, size = int(sixteen(table[n+1:end])), end+1
		}
		r.starts, r.kinds = append(r.starts, at), append(r.kinds, uint8(kind))
		at, table = at+count, table[size:]
	}
	return r
}

func sixteen(text string) rune {
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		panic("internal error: a table of characters: " + text)
	}
	return rune(n)
}

func (r *runs) of(c rune) uint8 {
	i, exact := slices.BinarySearch(r.starts, c)
	if !exact {
		i--
	}
	return r.kinds[i]
}

// readRanges reads a table of ranges in hexadecimal, with spaces between.
func readRanges(table string) (list [][2]rune) {
	for one := range strings.FieldsSeq(table) {
		from, to, more := strings.Cut(one, "-")
		if !more {
			to = from
		}
		list = append(list, [2]rune{sixteen(from), sixteen(to)})
	}
	return list
}

var (
	categories = sync.OnceValue(func() runs { return readRuns(categoryRuns) })
	scripts    = sync.OnceValue(func() runs { return readRuns(scriptRuns) })
	exprWords  = sync.OnceValue(func() [][2]rune { return readRanges(exprWord) })
	cutWords   = sync.OnceValue(func() [][2]rune { return readRanges(cutWord) })
	cutDigits  = sync.OnceValue(func() [][2]rune { return readRanges(cutDigit) })
	marks      = sync.OnceValue(func() [][2]rune { return readRanges(stripAccents) })
	lowered    = sync.OnceValue(func() map[rune]string { return pairsOf(lowercase) })
	folds      = sync.OnceValue(readFolds)
	longFolds  = sync.OnceValue(func() map[rune]string { return pairsOf(foldedLong) })
)

func categoryOf(r rune) uint8 { c := categories(); return c.of(r) }
func scriptsOf(r rune) uint8  { s := scripts(); return s.of(r) }

// readFolds gives each character those that are equal to it where case counts for
// nothing, itself among them.
func readFolds() map[rune]string {
	m := map[rune]string{}
	for line := range strings.SplitSeq(folded, "\n") {
		for _, r := range line {
			m[r] = line
		}
	}
	return m
}

// categoryMask are the categories of a name of one letter or two.
func categoryMask(name string) (mask uint32, ok bool) {
	for i, c := range categoryNames {
		if c == name || len(name) == 1 && c[:1] == name {
			mask |= 1 << (i + 1)
		}
	}
	return mask, mask != 0
}

// within reports a character that is in one of the ranges, which are in order.
func within(ranges [][2]rune, r rune) bool {
	i, _ := slices.BinarySearchFunc(ranges, r, func(x [2]rune, r rune) int {
		if x[1] < r {
			return -1
		}
		return 1
	})
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

func isSpace(r rune) bool { return unicode.Is(unicode.White_Space, r) }

// lower is a text in lower case, each character by itself.
func lower(text string) string {
	var out strings.Builder
	for _, r := range text {
		if l, ok := lowered()[r]; ok {
			out.WriteString(l)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
