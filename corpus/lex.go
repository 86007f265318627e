package corpus

import (
	"fmt"
	"strconv"
	"strings"
)

type kind uint8

const (
	endOfFile kind = iota
	endOfLine      // a line's end, or ;
	word
	text  // a Go string literal, already unquoted
	open  // {
	shut  // }
	label // the left side of key=value, key="value", key={ ... }
)

type token struct {
	kind kind
	text string
	line int
}

func (t token) String() string {
	switch t.kind {
	case endOfFile:
		return "the end of the file"
	case endOfLine:
		return "the end of the line"
	case text:
		return strconv.Quote(t.text)
	case label:
		return t.text + "="
	default:
		return t.text
	}
}

// lex splits the body of a recipe into tokens. Its first line has the given number.
func lex(src string, line int) ([]token, error) {
	var out []token
	add := func(k kind, s string) { out = append(out, token{k, s, line}) }
	for len(src) > 0 {
		switch c := src[0]; {
		case c == '\n':
			add(endOfLine, "")
			line++
			src = src[1:]
		case c == ';':
			add(endOfLine, "")
			src = src[1:]
		case c == ' ' || c == '\t' || c == '\r':
			src = src[1:]
		case c == '#':
			_, rest, found := strings.Cut(src, "\n")
			src = rest
			if found {
				src = "\n" + rest
			}
		case c == '{':
			add(open, "{")
			src = src[1:]
		case c == '}':
			add(shut, "}")
			src = src[1:]
		case c == '"' || c == '`':
			quoted, err := strconv.QuotedPrefix(src)
			if err != nil {
				return nil, fmt.Errorf("line %d: a text without an end, or with an escape that Go does not have", line)
			}
			plain, _ := strconv.Unquote(quoted)
			add(text, plain)
			line += strings.Count(quoted, "\n")
			src = src[len(quoted):]
		default:
			n := strings.IndexAny(src, " \t\r\n;{}\"`#")
			if n < 0 {
				n = len(src)
			}
			key, value, has := strings.Cut(src[:n], "=")
			if has && key != "" {
				add(label, key)
				if value != "" {
					add(word, value)
				}
			} else {
				add(word, src[:n])
			}
			src = src[n:]
		}
	}
	add(endOfFile, "")
	return out, nil
}
