package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formatBytes is a size for people, base 1024.
func formatBytes(n int64) string {
	size := float64(n)
	for _, unit := range []string{"KB", "MB", "GB"} {
		if size /= 1024; size < 1023.95 && n >= 1024 {
			return fmt.Sprintf("%.1f %s", size, unit)
		}
	}
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f TB", size/1024)
	}
	return strconv.FormatInt(n, 10) + " B"
}

// formatCount groups the digits of a number: 1,234,567.
func formatCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural is "1 tensor", "2 tensors".
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return formatCount(n) + " " + what + "s"
}

func formatShape(dims []int64) string {
	var s strings.Builder
	s.WriteByte('[')
	for i, d := range dims {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(strconv.FormatInt(d, 10))
	}
	s.WriteByte(']')
	return s.String()
}

// wide are the runes that take two columns of a terminal: the ranges of
// Unicode's EastAsianWidth.txt (17.0) with W or F, neighbours joined.
var wide = [...]struct{ lo, hi rune }{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x2614, 0x2615},
	{0x2648, 0x2653}, {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274c}, {0x2753, 0x2755}, {0x2795, 0x2797}, {0x2b1b, 0x2b1c},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
	{0xfe10, 0xfe19}, {0xfe30, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18cff},
	{0x1aff0, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a}, {0x1f200, 0x1f265},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6fc}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faf8},
	{0x20000, 0x3fffd},
}

// runeColumns is how many columns a rune takes.
func runeColumns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	for _, w := range wide {
		if r < w.lo {
			return 1
		}
		if r <= w.hi {
			return 2
		}
	}
	return 1
}

// columns is how many columns a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// cutColumns cuts a text to n columns, with an ellipsis where it was cut.
func cutColumns(s string, n int) string {
	if len(s) <= n || columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// cutMiddle cuts a text to n columns where names of a model are most alike, in
// the middle.
func cutMiddle(s string, n int) string {
	if len(s) <= n || columns(s) <= n {
		return s
	}
	head := cutColumns(s, min(n, max(n/2, 1))) // with its ellipsis
	left, tail := n-columns(head), len(s)
	for at := len(s); at > 0 && left >= 0; {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
		if left -= runeColumns(r); left >= 0 && runeColumns(r) > 0 { // no mark without its letter
			tail = at
		}
	}
	return head + s[tail:]
}

// cutName cuts a tensor's name to n columns and keeps what tells it from others: all
// from the number of its layer on, or else of its expert, if that fits; what a name
// begins with is the same in most.
func cutName(s string, n int) string {
	if len(s) <= n || columns(s) <= n {
		return s
	}
	for at := 0; at < len(s); at++ {
		k := digits(s[at:])
		if k == 0 || at > 0 && s[at-1] != '.' || at+k < len(s) && s[at+k] != '.' {
			continue
		}
		if room := n - columns(s[at:]); room > 0 {
			return cutColumns(s[:at], room) + s[at:] // with an ellipsis, or all of it
		}
		at += k
	}
	return cutMiddle(s, n)
}

// digits is how many digits a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// shortName is a name in a list.
func shortName(name string) string { return cutName(nameText(name), 64) }

// minLast is the least that a name in the last column of a table is cut to.
const minLast = 32

// lastName is a name in the last column of a table. Where the columns before it leave
// hardly any room it stays whole, and the terminal breaks the line.
func (s *session) lastName(text string, used int) string {
	if s.columns-used < minLast {
		return text
	}
	return cutName(text, s.columns-used)
}

// breakColumns breaks a text at a space, into a line of at most n columns if it
// can, and the rest.
func breakColumns(s string, n int) (line, rest string) {
	at, used := len(s), 0
	begun := false // the spaces that a line begins with are no place to break it
	for i, r := range s {
		if r == ' ' && begun {
			if at == len(s) || used <= n {
				at = i
			}
			if used > n {
				break
			}
		}
		begun = begun || r != ' '
		used += runeColumns(r)
	}
	if used <= n {
		return s, ""
	}
	return strings.TrimRight(s[:at], " "), strings.TrimLeft(s[at:], " ")
}

// pad fills a text with spaces to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-columns(s), 0))
}

// padLeft fills a text with spaces to n columns from the left.
func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0)) + s
}
