package sidecar

import (
	"math/bits"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Libraries match names of layers, and tokenizers match texts, with regular expressions of the
// model's files. Their engines go back and try again: what an expression takes is the product of
// its choices. A choice is a place at which the next character does not tell how to go on. Inside
// of a repetition it is met each time around, and the work doubles with each character.

const (
	// maxRegex is the longest expression that is judged; Unsloth writes some of 1 KB.
	maxRegex = 16 << 10
	// maxRegexDepth bounds groups in groups.
	maxRegexDepth = 64
	// maxRepeat is the largest number of repetitions; more are work by themselves.
	maxRepeat = 1000
	// loopCost is the base 2 logarithm of what a repetition multiplies: a name has about 64 characters.
	loopCost = 6
	// maxRegexCost allows six repetitions whose end is open; Unsloth's expressions have four.
	maxRegexCost = 6 * loopCost
	// regexCost is the memory of an expression by the byte, for a node and its place in a list.
	regexCost = 256
)

// chars is a set of characters: those of ASCII, and all others together.
type chars struct {
	ascii [2]uint64
	other bool
}

func (c *chars) add(from, to rune) {
	for r := from; r <= min(to, 127); r++ {
		c.ascii[r/64] |= 1 << (r % 64)
	}
	c.other = c.other || to > 127
}

func (c chars) or(d chars) chars {
	return chars{[2]uint64{c.ascii[0] | d.ascii[0], c.ascii[1] | d.ascii[1]}, c.other || d.other}
}

// not is the complement, in which other characters always may be.
func (c chars) not() chars { return chars{[2]uint64{^c.ascii[0], ^c.ascii[1]}, true} }

func (c chars) meets(d chars) bool {
	return c.ascii[0]&d.ascii[0] != 0 || c.ascii[1]&d.ascii[1] != 0 || c.other && d.other
}

// folded has the other case of each letter too.
func (c chars) folded() chars {
	const letters = 1<<26 - 1
	up, low := c.ascii[1]>>1&letters, c.ascii[1]>>33&letters
	c.ascii[1] |= low<<1 | up<<33
	c.other = c.other || (up|low)&(1<<('k'-'a')|1<<('s'-'a')) != 0 // the sign of kelvin, the long s
	return c
}

var (
	anyChar   = chars{}.not()
	digits    = rangesOf(false, '0', '9')
	letters   = rangesOf(true, 'A', 'Z', 'a', 'z')
	inWord    = rangesOf(true, '0', '9', 'A', 'Z', '_', '_', 'a', 'z')
	blanks    = rangesOf(true, '\t', '\r', ' ', ' ', 28, 31)
	pointings = rangesOf(true, '!', '/', ':', '@', '[', '`', '{', '~')
)

func rangesOf(other bool, ends ...rune) (c chars) {
	for i := 0; i < len(ends); i += 2 {
		c.add(ends[i], ends[i+1])
	}
	c.other = other
	return c
}

// A regexKind is a kind of node.
type regexKind uint8

const (
	oneChar   regexKind = iota
	sequence            // of kids
	choice              // between kids
	repeat              // of its only kid
	lookaside           // at its only kid, which consumes nothing
)

// A regexNode is a part of an expression.
type regexNode struct {
	kind        regexKind
	kids        []*regexNode
	first       chars // with which it may begin
	empty       bool  // it may match nothing
	least, most int   // of a repetition; most is maxRepeat + 1 for any number
}

// parts are the nodes one after the other.
func (n *regexNode) parts() []*regexNode {
	if n.kind == sequence {
		return n.kids
	}
	return []*regexNode{n}
}

// A regex judges one expression.
type regex struct {
	b     *limits.Budget
	steps limits.Steps
	p     regexParser
	cost  int // of the choices, as a logarithm
	why   string
	err   error
}

// slowRegex says why a match of an expression may take for ever, "" if it does not, or if Python
// takes the text for no expression. A tokenizer's engine, Oniguruma, takes more.
func slowRegex(b *limits.Budget, text string, tokenizer bool) (why string, err error) {
	return slowRegexOf(b, text, tokenizer, maxRegex)
}

// slowRegexOf is slowRegex for expressions up to a number of bytes.
func slowRegexOf(b *limits.Budget, text string, tokenizer bool, most int) (why string, err error) {
	if !mayRepeat(text) {
		return "", nil
	}
	if len(text) > most {
		return "it is longer than any honest one", nil
	}
	size := regexCost * int64(len(text))
	if err := b.Hold(size); err != nil {
		return "", err
	}
	defer b.Drop(size)
	if err := b.Step(int64(len(text))); err != nil {
		return "", err
	}
	j := regex{b: b, steps: b.Steps(), p: regexParser{text: text, tokenizer: tokenizer}}
	root := j.p.parse()
	switch {
	case j.p.why != "":
		return j.p.why, nil
	case root == nil && tokenizer:
		return "it is not read here", nil
	case root == nil:
		return "", nil
	}
	j.walk(root, chars{}, chars{}, false)
	if j.why == "" && j.cost > maxRegexCost {
		j.why = "it has too many repetitions one after the other, of which each may end anywhere"
	}
	return j.why, j.err
}

// mayRepeat reports whether a text has anything by which an expression repeats or chooses.
func mayRepeat(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '*', '+', '{', '|', '?':
			return true
		}
	}
	return false
}

func (j *regex) slow() { j.why = "a repetition has a choice in it that is open each time around" }

// walk adds the choices of a node. Inside is what may follow it within the repetitions around it,
// and after what may follow it at all.
func (j *regex) walk(n *regexNode, inside, after chars, loop bool) {
	if j.err == nil {
		j.err = j.steps.Step()
	}
	if j.err != nil || j.why != "" {
		return
	}
	switch n.kind {
	case sequence:
		for i := len(n.kids) - 1; i >= 0; i-- {
			k := n.kids[i]
			j.walk(k, inside, after, loop)
			if k.empty {
				inside, after = inside.or(k.first), after.or(k.first)
			} else {
				inside, after = k.first, k.first
			}
		}
	case choice:
		j.choose(n, inside, after, loop)
	case repeat:
		j.again(n, inside, after, loop)
	case lookaside:
		j.walk(n.kids[0], chars{}, chars{}, false)
	}
}

func (j *regex) again(n *regexNode, inside, after chars, loop bool) {
	k := n.kids[0]
	if n.most > n.least {
		if loop && k.first.meets(inside) {
			j.slow()
			return
		}
		if k.first.meets(after) {
			j.cost += min(loopCost, bits.Len(uint(n.most-n.least)))
		}
	}
	if n.most <= 1 {
		j.walk(k, inside, after, loop)
		return
	}
	if k.empty {
		j.slow()
		return
	}
	if !loop {
		inside = chars{} // what follows the outermost repetition ends it
	}
	j.walk(k, inside.or(k.first), after.or(k.first), true)
}

// choose adds the alternatives that may begin alike, and those of them that cost most.
func (j *regex) choose(n *regexNode, inside, after chars, loop bool) {
	alike := 0
	for i, a := range n.kids {
		for _, c := range n.kids[:i] {
			if j.err = j.steps.Step(); j.err != nil {
				return
			}
			if clash(a, c, after) {
				alike++
				break
			}
		}
	}
	if alike > 0 && loop {
		j.slow()
		return
	}
	before, most := j.cost, 0
	for _, k := range n.kids {
		j.cost = 0
		j.walk(k, inside, after, loop)
		most = max(most, j.cost)
	}
	j.cost = before + most + bits.Len(uint(alike))
}

// clash reports whether two alternatives may both match the beginning of a text.
func clash(a, c *regexNode, after chars) bool {
	x, y := a.parts(), c.parts()
	for i := range min(len(x), len(y)) {
		switch f, g := x[i], y[i]; {
		case f.empty || g.empty:
			return true
		case !f.first.meets(g.first):
			return false
		case f.kind != oneChar || g.kind != oneChar:
			return true
		}
	}
	rest := x
	if len(y) > len(x) {
		rest = y
	}
	if n := min(len(x), len(y)); n < len(rest) && !rest[n].empty {
		return rest[n].first.meets(after) // one is a beginning of the other: what follows tells
	}
	return true
}

// codeRegex is the code of findings about expressions that take too long.
const codeRegex = "sidecar.regex"

// quantizers are texts of what a quantizer did, and the members of others for it.
var (
	quantizers  = map[string]bool{"quantize_config.json": true, "quantization_config.json": true, "quant_config.json": true, "hf_quant_config.json": true}
	ofQuantizer = [...]string{"quantization_config", "compression_config", "quantization"}
)

// matches reports whether a library may match names of layers with the texts and the names of
// members of this place: PEFT with those of an adapter, quantizers with those of theirs.
func (w *walk) matches() bool {
	if w.file == adapters || quantizers[w.file] {
		return true
	}
	for _, name := range ofQuantizer {
		if w.below(name) {
			return true
		}
	}
	return false
}

// answerPatterns are members with which transformers takes answers apart: those of its response_template,
// and of the response_schema of versions before 5.11.
var answerPatterns = setOf("open_pattern close_pattern start_anchor_pattern tag_pattern x-regex x-regex-iterator x-regex-key-value x-regex-substitutions")

// matchesAnswers reports whether transformers matches the answers of a model with the text of a member.
func (w *walk) matchesAnswers(key string) bool {
	return answerPatterns()[key] && (w.below("response_template") || w.below("response_schema"))
}

// answerRegex judges such a text, and cuts it.
func (w *walk) answerRegex(k *kept, at int64) error {
	why, err := slowRegex(w.b, k.text, false)
	if why != "" {
		err = w.once(codeRegex, tensor.Danger, "", at, "transformers matches each answer with "+wire.Quote(k.text)+": "+why)
	}
	k.text = k.text[:min(len(k.text), maxText)]
	return err
}

// layerRegex judges a text with which a library may match names of layers, and cuts it.
func (w *walk) layerRegex(k *kept, at int64) error {
	text := k.text
	for _, mark := range [...]string{"re:", "+:", "-:"} { // compressed-tensors, GPTQModel
		text = strings.TrimPrefix(text, mark)
	}
	why, err := "", error(nil)
	if mayRepeat(text) {
		if strings.IndexByte("*+?{", text[0]) >= 0 {
			text = "." + text // PEFT writes something before it
		}
		why, err = slowRegex(w.b, "("+text+")", false) // with parentheses of PEFT, which may close others
	}
	if why != "" {
		err = w.once(codeRegex, tensor.Danger, "", at, "its library matches names of layers with "+wire.Quote(k.text)+": "+why)
	}
	k.text = k.text[:min(len(k.text), maxText)]
	return err
}
