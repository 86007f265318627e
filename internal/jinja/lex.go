package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	end    kind = iota
	bad         // a syntax error, described by text
	open        // {% : a statement begins
	close       // %}
	print       // {{ : an expression that is printed begins
	closed      // }}
	name        // identifier or keyword
	text        // string literal, escapes resolved
	number      // whole number
	float       // number with a fraction or an exponent
	punct       // operator or bracket
)

type token struct {
	kind  kind
	off   int
	text  string
	named bool // a string that spells a character by its name
}

// is reports whether a token is an operator or a bracket.
func (t token) is(text string) bool { return t.kind == punct && t.text == text }

// word reports whether a token is a name that the grammar gives a meaning.
func (t token) word(text string) bool { return t.kind == name && t.text == text }

// A lexer yields the tokens inside tags. Text between tags is skipped: it can only be printed.
// Its modes are those of Jinja: root, comment, raw, block and variable.
type lexer struct {
	src      string
	off      int
	closer   string // the closer of the tag that we are in, or ""
	brackets [maxNest]byte
	depth    int // brackets open in the tag: Jinja closes it only outside them
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

// skipToTag moves to the next tag. It returns a token if a tag begins, or an error.
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
		return token{kind: print, off: at}, true
	case '%':
		l.off = l.skipMark(at + 2)
		if skipped, ok := l.skipRaw(); skipped {
			return token{kind: bad, off: at, text: "a raw block is not closed"}, !ok
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

// skipRaw skips a raw block, whose content is text. It reports whether there is one, and
// whether it ends.
func (l *lexer) skipRaw() (skipped, ok bool) {
	at, ok := l.raw(l.off, "raw", "-")
	if !ok {
		return false, true
	}
	for {
		n := strings.Index(l.src[at:], "{%")
		if n < 0 {
			l.off = len(l.src)
			return true, false
		}
		at += n + 2
		if end, ok := l.raw(l.skipMark(at), "endraw", "-+"); ok {
			l.off = end
			return true, true
		}
	}
}

// raw reads the rest of a tag of one word, from after its mark, and returns its end.
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

func (l *lexer) skipSpace() {
	l.off = len(l.src) - len(trimSpace(l.src[l.off:]))
}

// closes returns the length of the closer of the tag at the beginning of rest, with its mark.
func (l *lexer) closes(rest string) (int, bool) {
	if l.depth > 0 {
		return 0, false
	}
	if rest[0] == '-' || rest[0] == '+' && l.closer == "%}" {
		return 1 + len(l.closer), strings.HasPrefix(rest[1:], l.closer)
	}
	return len(l.closer), strings.HasPrefix(rest, l.closer)
}

// token reads one token of a tag, at which the lexer is.
func (l *lexer) token() token {
	rest, at := l.src[l.off:], l.off
	if n, ok := l.closes(rest); ok {
		kind := closed
		if l.closer == "%}" {
			kind = close
		}
		l.off += n
		l.closer = ""
		return token{kind: kind, off: at}
	}
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case r == '"' || r == '\'':
		return l.quoted()
	case '0' <= r && r <= '9':
		n, kind := numeral(rest, at > 0 && l.src[at-1] == '.')
		l.off += n
		return token{kind: kind, off: at, text: rest[:n]}
	case isWord(r):
		n := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
		if n < 0 {
			n = len(rest)
		}
		l.off += n
		return token{kind: name, off: at, text: rest[:n]}
	}
	if len(rest) > 1 && operators[rest[:2]] {
		n = 2
	} else if !operators[rest[:n]] {
		l.off += n
		return token{kind: bad, off: at, text: "a character that no tag has"}
	}
	l.off += n
	return l.bracket(token{kind: punct, off: at, text: rest[:n]})
}

// isWord reports whether a character may be part of a name: those of Python's \w, and marks,
// which Python's names may have.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || r >= 0x80 && (unicode.IsNumber(r) || unicode.IsMark(r) || unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Other_ID_Start, r) || unicode.Is(unicode.Other_ID_Continue, r))
}

var operators = map[string]bool{
	"+": true, "-": true, "/": true, "//": true, "*": true, "%": true, "**": true, "~": true, "[": true, "]": true, "(": true, ")": true, "{": true, "}": true,
	"==": true, "!=": true, ">": true, ">=": true, "<": true, "<=": true, "=": true, ".": true, ":": true, "|": true, ",": true, ";": true,
}

// bracket balances brackets, as Jinja does: it is an error if one closes another.
func (l *lexer) bracket(t token) token {
	switch t.text {
	case "(", "[", "{":
		if l.depth == maxNest {
			l.off, l.closer, l.depth = len(l.src), "", 0
			return token{kind: bad, off: t.off, text: "brackets nest too deep"}
		}
		l.brackets[l.depth] = t.text[0]
		l.depth++
	case ")", "]", "}":
		if l.depth == 0 || pairs[t.text[0]] != l.brackets[l.depth-1] {
			l.depth = 0
			return token{kind: bad, off: t.off, text: "a bracket closes none"}
		}
		l.depth--
	}
	return t
}

var pairs = map[byte]byte{')': '(', ']': '[', '}': '{'}

const decimal = "0123456789"

// numeral returns the length of the number at the beginning of s. After a dot a number has no
// fraction.
func numeral(s string, dotted bool) (int, kind) {
	if !dotted {
		whole := digits(s, decimal)
		n := whole
		if n < len(s) && s[n] == '.' {
			if more := digits(s[n+1:], decimal); more > 0 {
				n += 1 + more
			}
		}
		if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
			sign := n + 1
			if sign < len(s) && (s[sign] == '+' || s[sign] == '-') {
				sign++
			}
			if more := digits(s[min(sign, len(s)):], decimal); more > 0 {
				n = sign + more
			}
		}
		if n > whole {
			return n, float
		}
	}
	return integer(s), number
}

// integer returns the length of a whole number. One that begins with 0 is 0, or has a base.
func integer(s string) int {
	if s[0] != '0' {
		return digits(s, decimal)
	}
	if len(s) > 2 {
		if set := bases[s[1]|0x20]; set != "" {
			skip := 2
			if s[2] == '_' {
				skip = 3
			}
			if n := digits(s[skip:], set); n > 0 {
				return skip + n
			}
		}
	}
	return digits(s, "0")
}

var bases = map[byte]string{'b': "01", 'o': "01234567", 'x': "0123456789abcdefABCDEF"}

// digits returns the length of digits of a set with single underscores between them.
func digits(s, set string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.IndexByte(set, s[i]) >= 0:
			n = i + 1
		case s[i] == '_' && n == i && i > 0 && s[i-1] != '_':
		default:
			return n
		}
	}
	return n
}
