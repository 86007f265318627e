package jinja

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A parser makes the tree of a template. It is Jinja's, method by method, with the statements
// that its extensions and transformers add.
//
// Behind an error it goes on with the next tag, so that what else a template has is found too:
// a template with an error is refused, whatever else it is.
type parser struct {
	lex     lexer
	b       *limits.Budget
	steps   limits.Steps
	nodes   []node
	token   token // the current one
	ahead   token
	looked  bool
	depth   int
	failed  bool // this tag has an error: there are no more tokens in it
	stopped bool // nothing more is read
	problem func(off int, code, text string)
	err     error // of the account
}

// parse returns the root of the tree of a template.
func (p *parser) parse() int32 {
	if p.nothing(); p.err != nil { // node 0 means no node
		return 0
	}
	p.advance()
	return p.statements(nil)
}

func (p *parser) nothing() int32 { return p.node(nothing, 0, "", chain{}) }

// advance moves to the next token. At an error of the lexer the tag ends.
func (p *parser) advance() {
	switch {
	case p.failed, p.err != nil:
		p.token.kind = bad
		return
	case p.looked:
		p.token, p.looked = p.ahead, false
	default:
		p.token = p.read()
	}
	if p.token.kind == bad {
		p.fail(p.token.off, "%s", p.token.text)
	}
}

func (p *parser) read() token {
	if p.err == nil {
		p.err = p.steps.Step()
	}
	if p.err != nil || p.stopped {
		return token{kind: end, off: len(p.lex.src)}
	}
	return p.lex.next()
}

// look returns the token behind the current one.
func (p *parser) look() token {
	if !p.looked && !p.failed {
		p.ahead, p.looked = p.read(), true
	}
	return p.ahead
}

// fail notes an error. Until the next tag there are no tokens.
func (p *parser) fail(off int, format string, args ...any) {
	if !p.failed && p.err == nil {
		p.problem(off, CodeSyntax, fmt.Sprintf(format, args...))
	}
	p.failed, p.token.kind = true, bad
}

func (p *parser) tooDeep(off int) {
	p.fail(off, "what nests more than %d deep", maxNest)
	p.stopped = true
}

// recover moves behind the tag that has an error.
func (p *parser) recover() {
	p.failed, p.looked = false, false
	for p.lex.closer != "" && p.err == nil && !p.stopped {
		p.read()
	}
	p.advance()
}

func (p *parser) skip(word string) bool {
	if !p.token.word(word) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) skipOperator(op string) bool {
	if !p.token.is(op) {
		return false
	}
	p.advance()
	return true
}

// unexpected fails at the current token.
func (p *parser) unexpected() {
	switch p.token.kind {
	case end, close, closed:
		p.fail(p.token.off, "the tag ends too early")
	default:
		p.fail(p.token.off, "a tag that Jinja cannot parse")
	}
}

func (p *parser) expect(op string) {
	if !p.skipOperator(op) {
		p.unexpected()
	}
}

// name returns the current token, which must be one.
func (p *parser) name() token {
	t := p.token
	if t.kind != name {
		p.unexpected()
		return token{off: t.off}
	}
	p.advance()
	return t
}

// statements parses until a tag begins with one of the words, at which it stays.
func (p *parser) statements(until []string) int32 {
	at, c := p.token.off, chain{}
	p.enter(at)
	for p.err == nil && !p.stopped {
		if p.failed {
			p.recover()
			continue
		}
		t := p.token
		switch {
		case t.kind == end:
			if until != nil {
				p.fail(t.off, "a statement is not closed")
				p.stopped = true
			}
			p.depth--
			return p.node(body, at, "", c)
		case t.kind == print:
			p.advance()
			p.add(&c, p.node(output, t.off, "", p.of(p.tuple(nil, p.conditional))))
			p.tagEnds(closed)
		default:
			p.advance()
			if p.token.kind == name && slices.Contains(until, p.token.text) {
				p.depth--
				return p.node(body, at, "", c)
			}
			p.add(&c, p.statement())
			p.tagEnds(close)
		}
	}
	p.depth--
	return p.node(body, at, "", c)
}

// tagEnds moves behind the end of a tag. It is read in the mode of its beginning, so what is
// behind it is text.
func (p *parser) tagEnds(k kind) {
	if p.token.kind != k {
		p.unexpected()
		return
	}
	p.advance()
}

// enter counts a level of nesting.
func (p *parser) enter(off int) {
	if p.depth++; p.depth > maxNest {
		p.tooDeep(off)
	}
}

// block parses the body of a statement, whose tag ends here, and the word that ends the body.
func (p *parser) block(until ...string) int32 {
	p.skipOperator(":")
	p.tagEnds(close)
	n := p.statements(until)
	return n
}

// closedBlock parses a body and moves behind the word that ends it.
func (p *parser) closedBlock(until string) int32 {
	n := p.block(until)
	p.skip(until)
	return n
}
