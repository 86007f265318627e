package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxQuoted is how many bytes of a name a message shows.
const MaxQuoted = 64

// Quote returns text from a file in a form that is safe in a message: escaped by
// [Clean], cut at [MaxQuoted] bytes, in double quotes.
func Quote(s string) string { return `"` + Clean(s, MaxQuoted) + `"` }

// Clean returns text from a file as it may reach a terminal or a log. Control,
// format, bidirectional, private, unassigned and zero-width runes, combining
// marks without a letter, quotes and backslashes become escapes; invalid
// bytes become \x{..}. The result is at most limit bytes, with "…" where it was
// cut.
func Clean(s string, limit int) string {
	if len(s) <= limit && plain(s) {
		return s
	}
	return clean(s, limit, true)
}

// Whole returns a name for JSON: as it is, or by [Clean] without a cut if it is not UTF-8.
func Whole(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return Clean(s, 16*len(s))
}

// Message returns the text of any error as it may reach a terminal or a log: what [Clean] escapes
// is escaped, except quotes and backslashes, since names in it are already quoted; at most
// [MaxMessage] bytes.
func Message(err error) string { return message(err.Error()) }

func message(s string) string { return Text(s, MaxMessage) }

// Text is [Clean] for text in which names are already quoted: quotes and backslashes stay
// unchanged.
func Text(s string, limit int) string {
	if len(s) <= limit && plain(s) {
		return s
	}
	return clean(s, limit, false)
}

const (
	ellipsis = "…"
	// maxMarks is more than any script puts on one letter; a tower of them
	// would be drawn over the lines around it.
	maxMarks = 4
)

func clean(s string, limit int, quoted bool) string {
	var out strings.Builder
	fits := 0  // length of the longest prefix that leaves room for the ellipsis
	marks := 0 // how many combining marks the piece before can still carry
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		piece := s[:n]
		if quoted || r != '"' && r != '\\' {
			piece = escape(piece, r, marks > 0)
		}
		if out.Len()+len(piece) > limit {
			if limit < len(ellipsis) {
				return ""
			}
			return out.String()[:fits] + ellipsis
		}
		switch {
		case r == ' ' || len(piece) != n:
			marks = 0
		case unicode.Is(unicode.M, r):
			marks--
		default:
			marks = maxMarks
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

func escape(raw string, r rune, based bool) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return `\x{` + strconv.FormatUint(uint64(raw[0]), 16) + `}`
	case r == '"' || r == '\\':
		return `\` + raw
	case r == ' ' || visible(r) && (based || !unicode.Is(unicode.M, r)):
		return raw
	default:
		return `\u{` + strconv.FormatUint(uint64(r), 16) + `}`
	}
}

// visible reports a rune that a reader can see. Fillers, variation selectors and
// joiners are letters or marks to Unicode, and the empty braille cell is a symbol.
func visible(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != '\u2800' &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
