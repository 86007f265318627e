// Package width counts the columns that a text takes in a terminal, and cuts, breaks
// and fills texts by them.
package width

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// Rune is how many columns a rune takes.
func Rune(r rune) int {
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

// Of is how many columns a text takes.
func Of(s string) int {
	n := 0
	for _, r := range s {
		n += Rune(r)
	}
	return n
}

// Cut cuts a text to n columns, with an ellipsis where it was cut.
func Cut(s string, n int) string {
	if len(s) <= n || Of(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += Rune(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Middle cuts a text to n columns where names of a model are most alike, in
// the middle.
func Middle(s string, n int) string {
	if len(s) <= n || Of(s) <= n {
		return s
	}
	head := Cut(s, min(n, max(n/2, 1))) // with its ellipsis
	return head + end(s, n-Of(head))
}

// end is the last n columns of a text.
func end(s string, n int) string {
	left, tail := n, len(s)
	for at := len(s); at > 0 && left >= 0; {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
		if left -= Rune(r); left >= 0 && Rune(r) > 0 { // no mark without its letter
			tail = at
		}
	}
	return s[tail:]
}

// leastEnd is the least of a name's end that tells names of a layer apart.
const leastEnd = 12

// Name cuts a tensor's name to n columns and keeps what tells it from others: all
// from the number of its layer on, or else of its expert, if that fits, or else that
// number and the end; what a name begins with is the same in most.
func Name(s string, n int) string {
	if len(s) <= n || Of(s) <= n {
		return s
	}
	layer := ""
	for at := 0; at < len(s); at++ {
		k := digits(s[at:])
		if k == 0 || at > 0 && s[at-1] != '.' || at+k < len(s) && s[at+k] != '.' {
			continue
		}
		if room := n - Of(s[at:]); room > 0 {
			return Cut(s[:at], room) + s[at:] // with an ellipsis, or all of it
		}
		if layer == "" {
			layer = "…" + s[at:at+k] + "…"
		}
		at += k
	}
	if room := n - Of(layer); layer != "" && room >= leastEnd {
		return layer + end(s, room)
	}
	return Middle(s, n)
}

// digits is how many digits a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// Break breaks a text at a space, into a line of at most n columns if it
// can, and the rest.
func Break(s string, n int) (line, rest string) {
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
		used += Rune(r)
	}
	if used <= n {
		return s, ""
	}
	return strings.TrimRight(s[:at], " "), strings.TrimLeft(s[at:], " ")
}

// Pad fills a text with spaces to n columns.
func Pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-Of(s), 0))
}

// PadLeft fills a text with spaces to n columns from the left.
func PadLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-utf8.RuneCountInString(s), 0)) + s
}
