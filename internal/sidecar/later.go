package sidecar

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A kind is a YAML key whose value may be on the following lines, or an expression that
// may continue there.
type kind uint8

const (
	aTarget kind = iota
	aClass
	anActivation
	aDownload
	anExpression
	kinds
)

// A key is a name in a line, and what follows it there.
type key struct {
	column int    // column at which it begins
	rest   string // the text after it
	at     int64  // its offset in the file
	cut    bool   // the line continues after rest
	flow   bool   // it is in an object or a list with brackets
	anchor bool   // it is a value with an anchor, which may be a key elsewhere
	asked  bool   // it follows a question mark: its value is on the next line
}

// text returns the text after the colon of a key; ok is false if there is no colon.
func (k *key) text() (text string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimLeft(k.rest, `"'`), " \t"), ":")
	return strings.TrimSpace(rest), ok || k.asked && strings.TrimSpace(rest) == ""
}

// A later is a YAML text that continues after its line, or after the current piece of it. Rules
// about the whole text also see what follows.
type later struct {
	open   bool
	empty  bool // nothing of it was seen: the next line may be something else
	flow   bool
	column int // of its key: an unquoted text is indented more
}

// quotes is the number of results that quoteOf has.
const quotes = 3

// quoteOf returns 1 for a text in double quotes, 2 for one in single quotes, else 0.
func quoteOf(text string) int {
	if text == "" {
		return 0
	}
	return 1 + strings.IndexByte(`"'`, text[0])
}

// await notes that the text of a key continues after the line, if it does.
func (l *lines) await(of kind, k *key, text string) {
	for text != "" && (text[0] == '&' || text[0] == '!') { // anchors and tags
		end := strings.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		text = strings.TrimLeft(text[end:], " \t")
	}
	quote := quoteOf(text)
	switch {
	case quote > 0 && closes(text[1:], text[0]) >= 0, quote == 0 && k.flow && strings.ContainsAny(text, ",]}"):
		return
	case text != "" && strings.IndexByte("[{*", text[0]) >= 0 && of != anExpression:
		return
	}
	s := &l.laters[of][quote]
	switch {
	case !s.open:
		*s = later{true, text == "", k.flow, k.column}
	case quote == 0: // nested texts: the end of the outer one counts
		*s = later{true, false, s.flow || k.flow, min(s.column, k.column)}
	}
}

// goOn passes a line, or a piece of one, to the texts that may continue in it.
func (l *lines) goOn(line string) error {
	for of := range l.laters {
		for quote := range l.laters[of] {
			s := &l.laters[of][quote]
			if !s.open || strings.TrimSpace(line) == "" {
				continue
			}
			text := line
			switch {
			case quote > 0:
				if end := closes(line, `"'`[quote-1]); end >= 0 {
					text, s.open = line[:end], l.doubt
				}
			case !l.inside && !l.q.inText && !l.doubt && s.ends(line):
				s.open = false
				continue
			}
			first := s.empty
			s.empty = false
			if err := l.judge(kind(of), text, first); err != nil {
				return err
			}
		}
	}
	return nil
}

// ends reports whether an unquoted text does not continue in a line.
func (s *later) ends(line string) bool {
	text := strings.TrimLeft(line, " \t")
	switch {
	case s.empty && text[0] == ':': // the value of a key after a question mark
		return false
	case s.flow && strings.IndexByte(",]}", text[0]) >= 0:
		return true
	case s.empty && text[0] != '-' && isMember(text):
		return true
	}
	return len(line)-len(text) <= s.column && isMember(text)
}

// isMember reports whether a line begins a member or an element, or ends an object or
// list.
func isMember(text string) bool {
	text = strings.TrimRight(text, " \t\r")
	if text == "-" || strings.IndexByte("]},", text[0]) >= 0 || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "? ") || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") {
		return true
	}
	return strings.HasSuffix(text, ":") || strings.Contains(text, ": ") || strings.Contains(text, `":`) || strings.Contains(text, `':`)
}

// opensAfter reports whether a value may begin after a word.
func opensAfter(word string) bool {
	return word == "" || strings.IndexByte("&!|>", word[0]) >= 0 || strings.IndexByte(":-?[{,\"'", word[len(word)-1]) >= 0
}

func lastWord(text string) string {
	text = lineBlanks.trimRight(text)
	return text[spaces.lastIndex(text)+1:]
}

// closes returns the offset at which a text ends with its quote, -1 if it continues.
func closes(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"', text[i] == quote && quote == '\'' && strings.HasPrefix(text[i+1:], "'"):
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// judge judges the continuation of a text; first reports whether nothing of it was seen
// before.
func (l *lines) judge(of kind, text string, first bool) error {
	if !first {
		text = "a " + text // so that a parenthesis at the beginning is a call
	}
	switch of {
	case aTarget, aClass:
		if !first {
			return nil
		}
		text = strings.TrimLeft(text, ":- \t")
		return l.lookedUp(of, &key{rest: ":" + text, at: l.at})
	case anActivation:
		return l.activates(strings.TrimLeft(text, ": \t"))
	case aDownload:
		return l.downloads(strings.TrimLeft(text, ": \t"))
	}
	if lastCall(text) < 0 && !imports(strings.TrimPrefix(text, "a ")) {
		return nil
	}
	return l.once(codeExpression, tensor.Danger, "", l.at, "MONAI evaluates "+wire.Quote(text))
}
