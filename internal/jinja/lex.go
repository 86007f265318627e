package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	end   kind = iota
	bad        // a syntax error, described by text
	open       // {% : a statement begins
	close      // %} or }}
	name       // identifier or keyword
	text       // string literal, escapes resolved
	punct      // operator or bracket
)

type token struct {
	kind  kind
	off   int
	text  string
	named bool // a string that spells a character by its name

	masked bool // a string with escapes that are not resolved
}

// A lexer yields the tokens inside tags. Text between tags is skipped: it can only be printed.
type lexer struct {
	src    string
	off    int
	closer string // the closer of the tag that we are in, or ""
	blind  bool   // strings keep their escapes
	depth  int    // brackets open in the tag: Jinja closes it only outside them
}

func (l *lexer) next() token {
	for l.off < len(l.src) {
		if l.closer == "" {
			if t, ok := l.skipToTag(); ok {
				return t
			}
			continue
		}
		if l.skipSpace(); l.off < len(l.src) {
			return l.token()
		}
	}
	if l.closer != "" {
		l.closer, l.depth = "", 0
		return token{kind: bad, off: l.off, text: "a tag is not closed"}
	}
	return token{kind: end, off: l.off}
}

// skipToTag moves to the next tag. It returns a token if the tag is a statement or an error.
func (l *lexer) skipToTag() (token, bool) {
	i := strings.IndexByte(l.src[l.off:], '{')
	if i < 0 || l.off+i+1 >= len(l.src) {
		l.off = len(l.src)
		return token{}, false
	}
	at := l.off + i
	switch l.src[at+1] {
	case '{':
		l.off, l.closer = l.skipMark(at+2), "}}"
	case '%':
		l.off = l.skipMark(at + 2)
		if l.skipRaw() {
			return token{}, false
		}
		l.closer = "%}"
		return token{kind: open, off: at}, true
	case '#':
		n := strings.Index(l.src[at+2:], "#}") // not the mark that opens it, as in {#}
		if n < 0 {
			l.off = len(l.src)
			return token{kind: bad, off: at, text: "a comment is not closed"}, true
		}
		l.off = at + 2 + n + 2
	default:
		l.off = at + 1
	}
	return token{}, false
}

// skipMark skips the white space control after the beginning of a tag.
func (l *lexer) skipMark(at int) int {
	if at < len(l.src) && (l.src[at] == '-' || l.src[at] == '+') {
		return at + 1
	}
	return at
}

// skipRaw skips a raw block, whose content is text, and reports whether there is one.
func (l *lexer) skipRaw() bool {
	at, ok := l.raw(l.off, "raw", "-")
	if !ok {
		return false
	}
	for {
		n := strings.Index(l.src[at:], "{%")
		if n < 0 {
			l.off = len(l.src)
			return true
		}
		at += n + 2
		if end, ok := l.raw(l.skipMark(at), "endraw", "-+"); ok {
			l.off = end
			return true
		}
	}
}

// raw reads the rest of a tag that is one word, from behind its mark, and returns its end.
// One of marks may control the white space after it.
func (l *lexer) raw(at int, word, marks string) (int, bool) {
	rest, ok := strings.CutPrefix(trimSpace(l.src[at:]), word)
	if !ok {
		return 0, false
	}
	if rest = trimSpace(rest); rest != "" && strings.IndexByte(marks, rest[0]) >= 0 {
		rest = rest[1:]
	}
	rest, ok = strings.CutPrefix(rest, "%}")
	return len(l.src) - len(rest), ok
}

// trimSpace is s without the white space at its beginning.
func trimSpace(s string) string { return strings.TrimLeftFunc(s, isSpace) }

// isSpace reports whether Jinja, which asks Python, takes a character as white space: besides
// that of Unicode, the four separators of ASCII.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// token reads one token of a tag, at which the lexer is.
func (l *lexer) token() token {
	rest := l.src[l.off:]
	r, n := utf8.DecodeRuneInString(rest)
	at := l.off
	switch {
	case l.depth == 0 && (strings.HasPrefix(rest, l.closer) || strings.HasPrefix(rest[n:], l.closer) && (r == '-' || r == '+')):
		l.off += strings.Index(rest, l.closer) + len(l.closer)
		l.closer = ""
		return token{kind: close, off: at}
	case r == '"' || r == '\'':
		return l.quoted()
	case r == '_' || unicode.IsLetter(r):
		end := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if end < 0 {
			end = len(rest)
		}
		l.off += end
		return token{kind: name, off: at, text: rest[:end]}
	case strings.HasPrefix(rest, "=="):
		n = 2 // not an assignment
	case strings.ContainsRune("([{", r):
		l.depth++
	case strings.ContainsRune(")]}", r):
		l.depth = max(0, l.depth-1)
	}
	l.off += n
	return token{kind: punct, off: at, text: rest[:n]}
}

// quoted reads a string literal and resolves its escapes as Python does, so that
// "\x5f\x5fclass__" is recognized. Adjacent literals are one string, as in Jinja.
func (l *lexer) quoted() token {
	at := l.off
	raw, ok := l.literal()
	if ok && l.blind {
		masked := strings.Contains(raw, `\`)
		for ok && l.skipToQuote() {
			masked = true
			_, ok = l.literal()
		}
		if ok {
			return token{kind: text, off: at, text: raw, masked: masked}
		}
	}
	if ok && !l.skipToQuote() && !strings.Contains(raw, `\`) {
		return token{kind: text, off: at, text: raw}
	}
	var out strings.Builder
	for named := false; ok; {
		named = writeUnescaped(&out, raw) || named
		if l.off == len(l.src) || l.src[l.off] != '"' && l.src[l.off] != '\'' {
			return token{kind: text, off: at, text: out.String(), named: named}
		}
		if raw, ok = l.literal(); ok {
			l.skipToQuote()
		}
	}
	l.off, l.closer = len(l.src), ""
	return token{kind: bad, off: at, text: "a string is not closed"}
}

// literal reads from one quote to the next of its kind.
func (l *lexer) literal() (raw string, ok bool) {
	quote := l.src[l.off]
	for i := l.off + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case quote:
			raw, l.off = l.src[l.off+1:i], i+1
			return raw, true
		}
	}
	return "", false
}

// skipToQuote skips white space, and reports whether a string follows.
func (l *lexer) skipToQuote() bool {
	l.skipSpace()
	return l.off < len(l.src) && (l.src[l.off] == '"' || l.src[l.off] == '\'')
}

func (l *lexer) skipSpace() {
	l.off = len(l.src) - len(trimSpace(l.src[l.off:]))
}

// escapeDigits is how many hexadecimal digits follow \x, \u and \U.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// writeUnescaped writes the text of a literal, and reports whether a character of it is
// spelled by its name, which is not looked up.
func writeUnescaped(out *strings.Builder, s string) (named bool) {
	if out.Len() == 0 {
		out.Grow(len(s))
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		if n := escapeDigits[s[i]]; n > 0 && i+n < len(s) {
			if v, ok := hexadecimal(s[i+1 : i+1+n]); ok {
				out.WriteRune(v)
				i += n
				continue
			}
		}
		switch {
		case s[i] == '\n':
			continue
		case s[i] == '\r': // Jinja makes each end of a line a line feed first
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
			continue
		case s[i] == 'N':
			named = true
		}
		if v, digits := octal(s[i:]); digits > 0 {
			out.WriteRune(v)
			i += digits - 1
			continue
		}
		out.WriteByte(s[i])
	}
	return named
}

// octal parses at most three octal digits at the beginning of s, and returns their number.
func octal(s string) (v rune, digits int) {
	for digits < min(3, len(s)) && '0' <= s[digits] && s[digits] <= '7' {
		v = v<<3 | rune(s[digits]-'0')
		digits++
	}
	return v, digits
}

// hexadecimal parses s, at most 8 digits. A number beyond the last character becomes the
// replacement character.
func hexadecimal(s string) (rune, bool) {
	v := uint32(0)
	for _, c := range []byte(s) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return rune(min(v, unicode.MaxRune+1)), true
}
