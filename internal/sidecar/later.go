package sidecar

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A kind is a key of YAML whose value may stand on lines behind it, or an expression that
// may.
type kind uint8

const (
	aTarget kind = iota
	aClass
	anActivation
	aDownload
	anExpression
	kinds
)

// A key is a name that stands in a line, and what follows it there.
type key struct {
	column int    // where it begins
	rest   string // what stands behind it
	at     int64  // its place in the file
	cut    bool   // the line goes on behind rest
	flow   bool   // it stands in an object or a list with brackets
	anchor bool   // it is a value with an anchor, which may be a key elsewhere
	asked  bool   // it stands behind a question mark: its value follows on the next line
}

// text is what stands behind the colon of a key; none if there is no colon.
func (k *key) text() (text string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimLeft(k.rest, `"'`), " \t"), ":")
	return strings.TrimSpace(rest), ok || k.asked && strings.TrimSpace(rest) == ""
}

// A later is a text of YAML that goes on behind its line, or behind the piece of it that
// is at hand: what is judged by the whole text is judged by what follows, too.
type later struct {
	open   bool
	empty  bool // nothing of it was seen: the next line may be another thing
	flow   bool
	column int // of the key that it belongs to: a text without quotes is indented more
}

// quotes are those that a text may end with, and none.
const quotes = 3

// quoteOf is the place of a text's first character among them.
func quoteOf(text string) int {
	if text == "" {
		return 0
	}
	return 1 + strings.IndexByte(`"'`, text[0])
}

// await notes that the text of a key goes on behind the line, if it does.
func (l *lines) await(of kind, k *key, text string) {
	for text != "" && (text[0] == '&' || text[0] == '!') { // an anchor, a tag
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
	case quote == 0: // one text within another: the end of the outer one counts
		*s = later{true, false, s.flow || k.flow, min(s.column, k.column)}
	}
}

// goOn shows a line, or a piece of one, to what judges the texts that go on in it.
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
					text, s.open = line[:end], false
				}
			case !l.inside && s.ends(line):
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

// ends reports a line that a text without quotes does not go on in.
func (s *later) ends(line string) bool {
	text := strings.TrimLeft(line, " \t")
	switch {
	case s.empty && text[0] == ':': // the value of a key behind a question mark
		return false
	case s.flow && strings.IndexByte(",]}", text[0]) >= 0:
		return true
	case s.empty && text[0] != '-' && isMember(text):
		return true
	}
	return len(line)-len(text) <= s.column && isMember(text)
}

// isMember reports a line that begins a member or an element, or ends what holds some.
func isMember(text string) bool {
	text = strings.TrimRight(text, " \t\r")
	if text == "-" || strings.IndexByte("]},", text[0]) >= 0 || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "? ") || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") {
		return true
	}
	return strings.HasSuffix(text, ":") || strings.Contains(text, ": ") || strings.Contains(text, `":`) || strings.Contains(text, `':`)
}

// opens reports that a value may begin behind a text of one line.
func opens(text string) bool {
	word := lastWord(text)
	return word == "" || strings.IndexByte("&!|>", word[0]) >= 0 || strings.IndexByte(":-?[{,\"'", word[len(word)-1]) >= 0
}

// blockOpens reports that a text of several lines begins behind one.
func blockOpens(text string) bool {
	word := lastWord(text)
	return word != "" && (word[0] == '|' || word[0] == '>')
}

func lastWord(text string) string {
	text = strings.TrimRight(text, " \t\r")
	return text[strings.LastIndexAny(text, " \t")+1:]
}

// closes is where a text ends with its quote, -1 where it goes on.
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

// judge judges what follows of a text; first reports that nothing of it was seen before.
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
