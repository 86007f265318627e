package npy

import (
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// str reads a string and copies it.
func (l *literal) str() (string, error) {
	p, err := l.quoted()
	if err != nil {
		return "", err
	}
	return limits.String(l.b, p)
}

// quoted reads a string in single or double quotes. The bytes are valid until
// the next call.
func (l *literal) quoted() ([]byte, error) {
	start := l.mark()
	quote := l.next()
	if quote != '\'' && quote != '"' {
		return nil, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("expected a string")
	}
	l.at++
	l.buf = l.buf[:0]
	for l.at < len(l.p) && l.p[l.at] != quote {
		r, err := l.char()
		if err != nil {
			return nil, err
		}
		if l.buf, err = limits.Grow(l.b, l.buf, utf8.UTFMax); err != nil {
			return nil, err
		}
		l.buf = utf8.AppendRune(l.buf, r)
	}
	if l.at == len(l.p) {
		return nil, l.back(start, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("unterminated string"))
	}
	l.at++
	if c := l.next(); c == '\'' || c == '"' {
		return nil, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("two adjacent strings")
	}
	return l.buf, nil
}

// char reads one character of a string.
func (l *literal) char() (rune, error) {
	c := l.p[l.at]
	switch {
	case c == '\\':
		return l.escape()
	case c < ' ':
		return 0, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("control character %#02x in a string", c)
	case c < utf8.RuneSelf || !l.utf8:
		l.at++
		return rune(c), nil
	}
	r, n := utf8.DecodeRune(l.p[l.at:])
	if r == utf8.RuneError && n == 1 {
		return 0, wire.ErrText.WithRule("npy.string-text").Errorf("header is not UTF-8")
	}
	l.at += n
	return r, nil
}

// escape reads the escapes that repr writes. Octal and named escapes are never written,
// and refused.
func (l *literal) escape() (rune, error) {
	if l.at+1 == len(l.p) {
		return 0, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("unterminated string")
	}
	digits := 0
	switch c := l.p[l.at+1]; c {
	case '\\', '\'', '"':
		l.at += 2
		return rune(c), nil
	case 'n':
		l.at += 2
		return '\n', nil
	case 'r':
		l.at += 2
		return '\r', nil
	case 't':
		l.at += 2
		return '\t', nil
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("escape \\%s", wire.Clean(string(rune(c)), wire.MaxQuoted))
	}
	return l.hex(digits)
}

func (l *literal) hex(digits int) (rune, error) {
	end := l.at + 2 + digits
	if end > len(l.p) {
		return 0, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("escape of %d digits", digits)
	}
	n := uint32(0)
	for _, c := range l.p[l.at+2 : end] {
		v, ok := hexDigit(c)
		if !ok {
			return 0, wire.ErrSyntax.WithRule("npy.string-syntax").Errorf("escape of %d digits", digits)
		}
		n = n<<4 | v
	}
	if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, wire.ErrText.WithRule("npy.string-text").Errorf("escape U+%04X is not a character", n)
	}
	l.at = end
	return rune(n), nil
}

func hexDigit(c byte) (uint32, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint32(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint32(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return uint32(c-'A') + 10, true
	}
	return 0, false
}

// text returns a part of the header as UTF-8, with escapes unresolved.
func (l *literal) text(start, end int) (string, error) {
	p := l.p[start:end]
	if l.utf8 {
		return limits.String(l.b, p)
	}
	wide := 0
	for _, c := range p {
		wide += int(c >> 7)
	}
	if wide == 0 {
		return limits.String(l.b, p)
	}
	var err error
	if l.buf, err = limits.Grow(l.b, l.buf[:0], len(p)+wide); err != nil {
		return "", err
	}
	for _, c := range p {
		l.buf = utf8.AppendRune(l.buf, rune(c))
	}
	return limits.String(l.b, l.buf)
}
