package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxQuoted is how many bytes of a name a message shows.
const MaxQuoted = 64

// Quote returns text from a file as it may stand in a message: escaped by
// [Clean], cut at [MaxQuoted] bytes, in double quotes.
func Quote(s string) string { return `"` + Clean(s, MaxQuoted) + `"` }

// Clean returns text from a file as it may reach a terminal or a log. Control,
// format, bidirectional, private, unassigned and zero-width runes, quotes and
// backslashes become escapes; invalid bytes become \x{..}. The result is at
// most limit bytes, with "…" where it was cut.
func Clean(s string, limit int) string {
	if len(s) <= limit && plain(s) {
		return s
	}
	const ellipsis = "…"
	var out strings.Builder
	var fits int // length of the longest prefix that leaves room for the ellipsis
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		piece := escape(s[:n], r)
		if out.Len()+len(piece) > limit {
			return out.String()[:fits] + ellipsis
		}
		out.WriteString(piece)
		if out.Len()+len(ellipsis) <= limit {
			fits = out.Len()
		}
		s = s[n:]
	}
	return out.String()
}

// plain reports printable ASCII without quote or backslash: most names.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func escape(raw string, r rune) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return `\x{` + strconv.FormatUint(uint64(raw[0]), 16) + `}`
	case r == '"' || r == '\\':
		return `\` + raw
	case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r) && !invisible(r):
		return raw
	default:
		return `\u{` + strconv.FormatUint(uint64(r), 16) + `}`
	}
}

// invisible reports graphic runes that a reader cannot see: fillers, variation
// selectors and joiners that Unicode counts as letters or marks.
func invisible(r rune) bool {
	return unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit-len("…")]
	for !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && len(s) > 0 {
		s = s[:len(s)-1]
		if r, _ := utf8.DecodeLastRuneInString(s); r != utf8.RuneError {
			break
		}
	}
	return s + "…"
}
