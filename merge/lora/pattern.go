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

// A pattern is a regular expression for the end of a module's name, and its number.
type pattern struct {
	re   *regexp.Regexp
	n    float64
	name string // the expression where it is a name, whose dots are any character
	size int64  // the instructions of another expression: what a step through a text may cost
}

// Bounds of one expression. PEFT's own are names of modules; a repetition of
// repetitions has a million instructions in twenty characters.
const (
	maxPattern      = 1024
	maxInstructions = 2048
	instruction     = 256 // bytes that one takes, with its place in the matchers
)

// patterns reads an object of numbers. PEFT takes the first key that fits the end of
// a module's name, from its beginning or from a dot on.
func (c *config) patterns(b *limits.Budget, v jsontree.Value) (list []pattern, err error) {
	if v.Kind != strictjson.Object {
		return nil, wire.ErrRange.With("it is no object")
	}
	for m := range v.Members() {
		n, ok := finite(m.Value)
		if !ok {
			return nil, wire.ErrRange.With("%s has no number", wire.Quote(m.Name))
		}
		p, err := newPattern(b, m.Name, n)
		if err != nil {
			return nil, err
		}
		if list, err = limits.Append(b, list, p); err != nil {
			return nil, err
		}
		if c.expressions += p.size; p.name != "" {
			c.plain++
		}
	}
	return list, nil
}

func newPattern(b *limits.Budget, text string, n float64) (p pattern, err error) {
	if err := b.Step(int64(1 + len(text))); err != nil {
		return p, err
	}
	p.n = n
	if len(text) > maxPattern {
		return p, wire.ErrUnsupported.With("%s is a regular expression of more than %d characters", wire.Quote(text), maxPattern)
	}
	whole := `^(?:.*\.)?(?:` + text + `)$`
	tree, err := syntax.Parse(whole, syntax.Perl)
	if err != nil {
		return p, wire.ErrUnsupported.With("%s is no regular expression that is read here", wire.Quote(text))
	}
	size := instructions(tree)
	if size > maxInstructions {
		return p, wire.ErrUnsupported.With("%s is a regular expression of more than %d instructions", wire.Quote(text), maxInstructions)
	}
	if err := b.Hold(1024 + instruction*size); err != nil {
		return p, err
	}
	if isName(text) {
		p.name = text
	} else {
		p.size = size
	}
	p.re, err = regexp.Compile(whole)
	return p, err
}

// instructions is how many a tree compiles to, about; ranges of characters count too.
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

// isName reports an expression that is a name: letters, digits, _ and dots.
func isName(text string) bool {
	for _, c := range []byte(text) {
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// fits reports a module that PEFT finds by the pattern.
func (p *pattern) fits(module string) bool {
	at := len(module) - len(p.name)
	if p.name == "" || strings.ContainsFunc(module, func(r rune) bool { return r < ' ' || r > '~' }) {
		return p.re.MatchString(module)
	}
	if at < 0 || at > 0 && module[at-1] != '.' {
		return false
	}
	for k := range len(p.name) {
		if p.name[k] != '.' && p.name[k] != module[at+k] {
			return false
		}
	}
	return true
}

// first is the number of the first pattern that a module fits.
func first(list []pattern, module string, otherwise float64) float64 {
	for i := range list {
		if list[i].fits(module) {
			return list[i].n
		}
	}
	return otherwise
}
