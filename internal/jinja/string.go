package jinja

import (
	"strings"
	"unicode"
)

// quoted reads a string literal and resolves its escapes as Python does, so that
// "\x5f\x5fclass__" is recognized. Adjacent literals are one string, as in Jinja.
func (l *lexer) quoted() token {
	at := l.off
	raw, ok := l.literal()
	if ok && !l.skipToQuote() && !strings.Contains(raw, `\`) {
		return token{kind: text, off: at, text: raw}
	}
	var out strings.Builder
	for named := false; ok; {
		spelled, right := writeUnescaped(&out, raw)
		if !right {
			return token{kind: bad, off: at, text: "an escape in a string is not one of Python's"}
		}
		named = spelled || named
		if l.off == len(l.src) || l.src[l.off] != '"' && l.src[l.off] != '\'' {
			return token{kind: text, off: at, text: out.String(), named: named}
		}
		if raw, ok = l.literal(); ok {
			l.skipToQuote()
		}
	}
	l.off, l.closer, l.depth = len(l.src), "", 0
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

// escapeDigits is how many hexadecimal digits follow \x, \u and \U.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// escapes are those of one character.
var escapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// writeUnescaped writes the text of a literal. It reports whether a character of it is
// spelled by its name, which is not looked up, and whether Python takes its escapes.
func writeUnescaped(out *strings.Builder, s string) (named, ok bool) {
	if out.Len() == 0 {
		out.Grow(len(s))
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		if n := escapeDigits[s[i]]; n > 0 {
			v, ok := hexadecimal(s[i+1 : min(len(s), i+1+n)])
			if !ok || i+n >= len(s) || v > unicode.MaxRune {
				return named, false
			}
			out.WriteRune(v)
			i += n
			continue
		}
		if v, digits := octal(s[i:]); digits > 0 {
			out.WriteRune(v)
			i += digits - 1
			continue
		}
		switch c, known := escapes[s[i]]; {
		case known:
			out.WriteByte(c)
		case s[i] == '\n':
		case s[i] == '\r': // Jinja makes each end of a line a line feed first
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
		default:
			named = named || s[i] == 'N'
			out.WriteByte('\\') // Python keeps it
			out.WriteByte(s[i])
		}
	}
	return named, true
}

// octal parses at most three octal digits at the beginning of s, and returns their number.
func octal(s string) (v rune, digits int) {
	for digits < min(3, len(s)) && '0' <= s[digits] && s[digits] <= '7' {
		v = v<<3 | rune(s[digits]-'0')
		digits++
	}
	return v, digits
}

// hexadecimal parses s, at most 8 digits. A number beyond the last character becomes one just
// beyond it.
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
