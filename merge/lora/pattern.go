package lora

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A pattern is a regular expression for the end of a module's name, with a number.
type pattern struct {
	re   *regexp.Regexp
	n    float64
	name string // the expression if it is a name, in which dots match any character
	size int64  // the instructions of other expressions: the cost of a character
}

// Bounds of one expression. Those of PEFT are names of modules; nested repetitions can have a
// million instructions in twenty characters.
const (
	maxPattern       = 1024
	maxInstructions  = 2048
	instructionBytes = 256 // bytes that one takes, with its place in the matchers
)

// patterns reads an object of numbers. PEFT uses the first key that matches the end of a
// module's name, from its beginning or after a dot. With whole, numbers must be integers.
func (c *config) patterns(b *limits.Budget, v jsontree.Value, whole bool) (list []pattern, err error) {
	if v.Kind != strictjson.Object {
		return nil, wire.ErrRange.Errorf("it is not an object")
	}
	for m := range v.Members() {
		n, ok := finite(m.Value)
		if !ok {
			return nil, wire.ErrRange.Errorf("%s has no number", wire.Quote(m.Name))
		}
		if _, is := m.Value.Int(); whole && !is {
			return nil, wire.ErrRange.Errorf("%s has no whole number", wire.Quote(m.Name))
		}
		p, err := newPattern(b, m.Name, n)
		if err != nil {
			return nil, err
		}
		if list, err = limits.Append(b, list, p); err != nil {
			return nil, err
		}
		if c.expressions += p.size; p.name != "" {
			c.namePatterns++
		}
	}
	return list, nil
}

func newPattern(b *limits.Budget, text string, n float64) (p pattern, err error) {
	if len(text) > maxPattern {
		return p, wire.ErrUnsupported.Errorf("%s is a regular expression of more than %d characters", wire.Quote(text), maxPattern)
	}
	if portable(text) {
		if p, err = compile(b, `^(?:.*\.)?(?:`+text+`)$`); err != nil {
			return p, err
		}
	}
	if p.re == nil {
		return p, wire.ErrUnsupported.Errorf("%s is not a supported regular expression, or has more than %d instructions", wire.Quote(text), maxInstructions)
	}
	if p.n = n; isName(text) {
		p.name, p.size = text, 0
	}
	return p, nil
}

// compile compiles an expression; for an unsupported one, p.re is nil.
func compile(b *limits.Budget, text string) (p pattern, err error) {
	if err := b.Step(int64(1 + len(text))); err != nil || len(text) > 8*maxPattern {
		return p, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p, nil
	}
	if p.size = instructions(tree); p.size > maxInstructions {
		return pattern{}, nil
	}
	if err := b.Hold(1024 + instructionBytes*p.size); err != nil {
		return p, err
	}
	p.re, err = regexp.Compile(text)
	return p, err
}

// instructions returns about how many instructions a tree compiles to; ranges of characters
// count too.
func instructions(tree *syntax.Regexp) int64 {
	n := int64(1 + len(tree.Rune))
	for _, sub := range tree.Sub {
		n = min(n+instructions(sub), 1<<32) // of a factor of 1,000 at most
	}
	if tree.Op == syntax.OpRepeat {
		n *= int64(max(1, tree.Min, tree.Max))
	}
	return n
}

// isName reports whether an expression is a name: letters, digits, _ and dots.
func isName(text string) bool {
	for _, c := range []byte(text) {
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// fits reports whether PEFT finds a module by the pattern.
func (p *pattern) fits(module string) bool {
	if p.name == "" || !printable(module) {
		return p.re.MatchString(module)
	}
	return nameMatches(p.name, module)
}

// nameMatches reports whether name matches the last parts of a module; dots of the name match
// any character.
func nameMatches(name, module string) bool {
	at := len(module) - len(name)
	if at < 0 || at > 0 && module[at-1] != '.' {
		return false
	}
	for k := range len(name) {
		if name[k] != '.' && name[k] != module[at+k] {
			return false
		}
	}
	return true
}

// firstMatch returns the number of the first pattern that matches a module.
func firstMatch(list []pattern, module string, otherwise float64) float64 {
	for i := range list {
		if list[i].fits(module) {
			return list[i].n
		}
	}
	return otherwise
}

// printable reports whether name has only printable ASCII, which Python's re and regexp classify
// in the same way.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
}

// portable reports whether Python's re and regexp give an expression the same meaning, if both
// accept it. They differ in nested classes, counts without a minimum, flags and some escapes;
// an unmatched closing parenthesis would close the one around the expression.
func portable(text string) bool {
	if !printable(text) {
		return false
	}
	depth, anchor := 0, false // anchor: the last item was one, and Python does not repeat it
	for i := 0; i < len(text); i++ {
		c, rest := text[i], text[i+1:]
		if anchor && strings.IndexByte("*+?{", c) >= 0 {
			return false
		}
		anchor = c == '^' || c == '$'
		switch c {
		case '\\':
			if rest == "" || !escapes(rest[0], "dDwWsSbB") {
				return false
			}
			anchor = rest[0]|0x20 == 'b'
			i++
		case '[':
			n := classLen(rest)
			if n < 0 {
				return false
			}
			i += n
		case '(':
			depth++
			if strings.HasPrefix(rest, "?") && !strings.HasPrefix(rest, "?:") && !strings.HasPrefix(rest, "?P<") {
				return false
			}
		case ')':
			if depth--; depth < 0 {
				return false
			}
		case '{':
			if rest == "" || rest[0] < '0' || rest[0] > '9' {
				return false
			}
		}
	}
	return depth == 0
}

// escapes reports whether c is one of letters, or neither a letter nor a digit.
func escapes(c byte, letters string) bool {
	return !isWordByte(c) || strings.IndexByte(letters, c) >= 0
}

// classLen returns the length of a class after its bracket, -1 if its meanings may differ.
func classLen(rest string) int {
	i := 0
	if strings.HasPrefix(rest, "^") {
		i++
	}
	for first := i; i < len(rest); i++ {
		switch {
		case rest[i] == '[':
			return -1
		case rest[i] == ']' && i > first:
			return i + 1
		case rest[i] == '\\':
			if i++; i == len(rest) || !escapes(rest[i], "dDwWsS") {
				return -1
			}
		}
	}
	return -1
}
