package jinja

import "strings"

// postfix parses attributes, subscripts and calls behind an operand.
func (p *parser) postfix(n int32) int32 {
	for !p.failed && p.err == nil {
		switch t := p.token; {
		case t.is("."):
			p.advance()
			n = p.member(n, t)
		case t.is("["):
			p.advance()
			n = p.node(subscript, t.off, "", p.of(n, p.key()))
		case t.is("("):
			n = p.call(n)
		default:
			return n
		}
	}
	return n
}

// member parses the name or the number behind a dot.
func (p *parser) member(n int32, dot token) int32 {
	t := p.token
	if t.kind == number {
		p.advance()
		return p.node(subscript, dot.off, "", p.of(n, p.node(numeric, t.off, t.text, chain{})))
	}
	t = p.name()
	return p.node(attribute, t.off, t.text, p.of(n))
}

// key parses a subscript behind its bracket: one key, or several, which are a tuple.
func (p *parser) key() int32 {
	at, c := p.token.off, chain{}
	for !p.token.is("]") && !p.failed && p.err == nil {
		if c.first != 0 {
			p.expect(",")
		}
		p.add(&c, p.sliceOrKey())
	}
	p.expect("]")
	if c.first != 0 && c.first == c.last {
		return c.first
	}
	return p.node(group, at, "", c)
}

func (p *parser) sliceOrKey() int32 {
	at, c := p.token.off, chain{}
	if p.token.is(":") {
		p.add(&c, p.nothing())
	} else {
		n := p.conditional()
		if !p.token.is(":") {
			return n
		}
		p.add(&c, n)
	}
	for range 2 {
		n := int32(0)
		if p.skipOperator(":") && !p.token.is(":") && !p.token.is("]") && !p.token.is(",") {
			n = p.conditional()
		} else {
			n = p.nothing()
		}
		p.add(&c, n)
	}
	return p.node(slice, at, "", c)
}

// call parses the arguments of a call of n.
func (p *parser) call(n int32) int32 {
	at, c := p.token.off, p.of(n)
	p.arguments(&c)
	return p.node(call, at, "", c)
}

// arguments parses those of a call, from its bracket.
func (p *parser) arguments(c *chain) {
	at := p.token.off
	p.expect("(")
	for first, latest := true, nothing; !p.token.is(")") && !p.failed && p.err == nil; first = false {
		if !first {
			if p.expect(","); p.token.is(")") {
				break
			}
		}
		n := p.argument()
		switch f := p.nodes[n].form; {
		case latest == starStar, latest == star && f != starStar && f != keyword, latest == keyword && f != keyword && f != star && f != starStar:
			p.fail(at, "the arguments of a call are in an order that Jinja does not take")
		case f == star, f == starStar, f == keyword && latest != star:
			latest = f
		}
		p.add(c, n)
	}
	p.expect(")")
}

func (p *parser) argument() int32 {
	t := p.token
	switch {
	case p.skipOperator("*"):
		return p.node(star, t.off, "", p.of(p.conditional()))
	case p.skipOperator("**"):
		return p.node(starStar, t.off, "", p.of(p.conditional()))
	case t.kind == name && p.look().is("="):
		p.advance()
		p.advance()
		return p.node(keyword, t.off, t.text, p.of(p.conditional()))
	}
	return p.conditional()
}

// filters parses filters, each behind its bar.
func (p *parser) filters(n int32) int32 {
	for p.skipOperator("|") {
		n = p.filter(n)
	}
	return n
}

// filter parses the name of a filter and its arguments.
func (p *parser) filter(n int32) int32 {
	at, s := p.dotted()
	c := p.of(n)
	if p.token.is("(") {
		p.arguments(&c)
	}
	return p.node(filter, at, s, c)
}

// dotted parses the name of a filter or of a test.
func (p *parser) dotted() (int, string) {
	t := p.name()
	if !p.token.is(".") {
		return t.off, t.text
	}
	for p.skipOperator(".") {
		p.name()
	}
	return t.off, strings.TrimSpace(p.lex.src[t.off:max(t.off, p.token.off)])
}

// argumentKinds are the tokens of which the one argument of a test may begin without a bracket.
var argumentKinds = map[kind]bool{name: true, text: true, number: true, float: true}

func (p *parser) test(n int32) int32 {
	p.advance()
	negated := p.skip("not")
	at, s := p.dotted()
	c := p.of(n)
	switch t := p.token; {
	case t.is("("):
		p.arguments(&c)
	case t.word("else"), t.word("or"), t.word("and"):
	case t.word("is"):
		p.fail(t.off, "a test follows a test")
	case argumentKinds[t.kind], t.is("["), t.is("{"):
		p.add(&c, p.postfix(p.primary(false)))
	}
	n = p.node(test, at, s, c)
	if negated {
		n = p.node(negation, at, "", p.of(n))
	}
	return n
}
