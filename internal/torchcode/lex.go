package torchcode

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A kind is that of a token.
type kind uint8

const (
	end kind = iota
	newline
	indent
	dedent
	name   // identifiers and keywords
	number // 1, 2.5e-3, 1j
	text   // a string, without its quotes and with its escapes
	punct  // an operator or a bracket
	bad    // what the grammar does not explain; text says what
)

type token struct {
	kind kind
	text string
	line int
}

// is reports whether a token is this operator or bracket.
func (t token) is(s string) bool { return t.kind == punct && t.text == s }

// word reports whether a token is this keyword.
func (t token) word(s string) bool { return t.kind == name && t.text == s }

// A lexer makes tokens of a text as frontend/lexer.h does, of fewer texts.
type lexer struct {
	src     string
	off     int
	line    int
	nesting int   // brackets that are open: lines do not matter inside
	indents []int // of the blocks that are open
	dedents int   // blocks that have ended and were not yet said to
	begun   bool  // the line has had a token
	steps   limits.Steps
	b       *limits.Budget
}

// puncts are the operators of several characters, longest first.
var puncts = []string{"**=", "<<=", ">>=", "...", "!=", "==", "<=", ">=", "//", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "**", "->"}

// next returns the next token. The error is that of the account.
func (l *lexer) next() (token, error) {
	from := l.off
	t, err := l.token()
	if err == nil {
		err = l.steps.Step()
	}
	if n := (l.off - from) / 16; err == nil && n > 0 {
		err = l.b.Step(int64(n))
	}
	t.line = l.line
	return t, err
}

func (l *lexer) token() (token, error) {
	if l.dedents > 0 {
		l.dedents--
		l.indents = l.indents[:len(l.indents)-1]
		return token{kind: dedent}, nil
	}
	if !l.begun && l.nesting == 0 {
		if t, err := l.beginLine(); err != nil || t.kind != end {
			return t, err
		}
	}
	l.skipBlanks()
	if l.off == len(l.src) {
		return l.atEnd(), nil
	}
	c := l.src[l.off]
	switch {
	case c == '\n': // outside of brackets
		l.off++
		l.line++
		l.begun = false
		return token{kind: newline}, nil
	case isLetter(c):
		return l.name(), nil
	case isDigit(c), c == '.' && l.off+1 < len(l.src) && isDigit(l.src[l.off+1]):
		return l.number(), nil
	case c == '"' || c == '\'':
		return l.string(c), nil
	}
	return l.punct(), nil
}

// skipBlanks skips spaces, and lines inside of brackets.
func (l *lexer) skipBlanks() {
	for l.off < len(l.src) && (l.src[l.off] == ' ' || l.nesting > 0 && l.src[l.off] == '\n') {
		if l.src[l.off] == '\n' {
			l.line++
		}
		l.off++
	}
}

// beginLine skips empty lines and compares the indent of the next with those of the open blocks. It
// returns the end if the indent is that of the block.
func (l *lexer) beginLine() (token, error) {
	at, width := l.off, 0
	for ; at < len(l.src) && (l.src[at] == ' ' || l.src[at] == '\n'); at++ {
		if width++; l.src[at] == '\n' {
			l.line++
			width = 0
		}
	}
	l.off, l.begun = at, true
	if at == len(l.src) {
		width = 0
	}
	open := 0
	if len(l.indents) > 0 {
		open = l.indents[len(l.indents)-1]
	}
	if width > open {
		var err error
		l.indents, err = limits.Append(l.b, l.indents, width)
		return token{kind: indent}, err
	}
	for k := len(l.indents) - 1; k >= 0 && l.indents[k] > width; k-- {
		l.dedents++
	}
	left := len(l.indents) - l.dedents
	if width > 0 && (left == 0 || l.indents[left-1] != width) {
		return token{kind: bad, text: "a line of an indent that no block has"}, nil
	}
	if l.dedents > 0 {
		return l.token()
	}
	return token{}, nil
}

func (l *lexer) atEnd() token {
	if l.nesting > 0 {
		return token{kind: bad, text: "a bracket that is not closed"}
	}
	return token{kind: end}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// name reads an identifier or a keyword. torch's lexer takes "is not" and "not in" for one token even
// where the second word goes on, so that "is nothing" is "is not" and a variable "hing".
func (l *lexer) name() token {
	from := l.off
	for l.off < len(l.src) && (isLetter(l.src[l.off]) || isDigit(l.src[l.off])) {
		l.off++
	}
	out, rest := l.src[from:l.off], l.src[l.off:]
	for _, two := range [...][2]string{{"is", " not"}, {"not", " in"}} {
		if after, ok := strings.CutPrefix(rest, two[1]); ok && out == two[0] && after != "" && (isLetter(after[0]) || isDigit(after[0])) {
			return token{kind: bad, text: "a word that torch reads as two"}
		}
	}
	return token{kind: name, text: out}
}

// number reads a decimal number.
func (l *lexer) number() token {
	from := l.off
	digits := func() {
		for l.off < len(l.src) && isDigit(l.src[l.off]) {
			l.off++
		}
	}
	digits()
	if l.off < len(l.src) && l.src[l.off] == '.' {
		l.off++
		digits()
	}
	if l.off < len(l.src) && (l.src[l.off] == 'e' || l.src[l.off] == 'E') {
		if l.off++; l.off < len(l.src) && (l.src[l.off] == '-' || l.src[l.off] == '+') {
			l.off++
		}
		digits()
	}
	if l.off < len(l.src) && l.src[l.off] == 'j' {
		l.off++
	}
	if l.off < len(l.src) && (isLetter(l.src[l.off]) || l.src[l.off] == '.') || !isDigit(l.src[from]) && l.off == from+1 {
		return token{kind: bad, text: "a number that is not decimal"}
	}
	return token{kind: number, text: l.src[from:l.off]}
}

// string reads a string of one line.
func (l *lexer) string(quote byte) token {
	if three := strings.Repeat(string(quote), 3); strings.HasPrefix(l.src[l.off:], three) {
		return token{kind: bad, text: "a string in three quotes"}
	}
	from := l.off + 1
	for at := from; at < len(l.src); at++ {
		switch l.src[at] {
		case quote:
			l.off = at + 1
			return token{kind: text, text: l.src[from:at]}
		case '\\':
			if at++; at < len(l.src) && l.src[at] == '\n' {
				return token{kind: bad, text: "a string of two lines"}
			}
		case '\n':
			return token{kind: bad, text: "a string that is not closed"}
		}
	}
	return token{kind: bad, text: "a string that is not closed"}
}

func (l *lexer) punct() token {
	for _, p := range puncts {
		if strings.HasPrefix(l.src[l.off:], p) {
			if p == "<=" && strings.HasPrefix(l.src[l.off:], "<=>") {
				break
			}
			l.off += len(p)
			return token{kind: punct, text: p}
		}
	}
	c := l.src[l.off : l.off+1]
	switch c {
	case "(", "[", "{":
		l.nesting++
	case ")", "]", "}":
		l.nesting--
	case "+", "-", "*", "/", "%", "@", "<", ">", "=", ".", ",", ":", "|", "&", "^", "~":
	default:
		return token{kind: bad, text: "a character that the printer of TorchScript does not write outside of strings"}
	}
	if l.nesting < 0 {
		return token{kind: bad, text: "a bracket that was not opened"}
	}
	l.off++
	return token{kind: punct, text: c}
}
