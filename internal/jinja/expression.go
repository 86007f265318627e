package jinja

// conditional parses an expression.
func (p *parser) conditional() int32 {
	p.enter(p.token.off)
	n := p.or()
	for at := p.token.off; p.skip("if"); at = p.token.off {
		condition := p.or()
		other := p.nothing()
		if p.skip("else") {
			other = p.conditional()
		}
		n = p.node(conditional, at, "", p.of(condition, n, other))
	}
	p.depth--
	return n
}

func (p *parser) or() int32 {
	n := p.and()
	for at := p.token.off; p.skip("or"); at = p.token.off {
		n = p.node(either, at, "", p.of(n, p.and()))
	}
	return n
}

func (p *parser) and() int32 {
	n := p.not()
	for at := p.token.off; p.skip("and"); at = p.token.off {
		n = p.node(either, at, "", p.of(n, p.not()))
	}
	return n
}

func (p *parser) not() int32 {
	at := p.token.off
	if !p.skip("not") {
		return p.compare()
	}
	p.enter(at)
	n := p.node(negation, at, "", p.of(p.not()))
	p.depth--
	return n
}

func (p *parser) compare() int32 {
	at, n := p.token.off, p.add1()
	c := p.of(n)
	for {
		switch {
		case p.token.kind == punct && comparisons[p.token.text]:
			p.advance()
		case p.skip("in"):
		case p.token.word("not") && p.look().word("in"):
			p.advance()
			p.advance()
		default:
			if c.first == c.last {
				return n
			}
			return p.node(comparison, at, "", c)
		}
		p.add(&c, p.add1())
	}
}

var comparisons = map[string]bool{"==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true}

func (p *parser) add1() int32 {
	n := p.concat()
	for p.token.is("+") || p.token.is("-") {
		at, f := p.token.off, sum
		if p.token.is("-") {
			f = arithmetic
		}
		p.advance()
		n = p.node(f, at, "", p.of(n, p.concat()))
	}
	return n
}

func (p *parser) concat() int32 {
	n := p.multiply()
	if !p.token.is("~") {
		return n
	}
	at, c := p.token.off, p.of(n)
	for p.skipOperator("~") {
		p.add(&c, p.multiply())
	}
	return p.node(concat, at, "", c)
}

var products = map[string]form{"*": product, "/": arithmetic, "//": arithmetic, "%": modulo}

func (p *parser) multiply() int32 {
	n := p.power()
	for p.token.kind == punct {
		f, ok := products[p.token.text]
		if !ok {
			break
		}
		at := p.token.off
		p.advance()
		n = p.node(f, at, "", p.of(n, p.power()))
	}
	return n
}

func (p *parser) power() int32 {
	n := p.unary(true)
	for at := p.token.off; p.skipOperator("**"); at = p.token.off {
		n = p.node(arithmetic, at, "**", p.of(n, p.unary(true)))
	}
	return n
}

func (p *parser) unary(filters bool) (n int32) {
	if at := p.token.off; p.token.is("-") || p.token.is("+") {
		p.enter(at)
		p.advance()
		n = p.node(sign, at, "", p.of(p.unary(false)))
		p.depth--
	} else {
		n = p.primary(false)
	}
	n = p.postfix(n)
	for filters && !p.failed && p.err == nil {
		switch {
		case p.token.is("|"):
			n = p.filters(n)
		case p.token.word("is"):
			n = p.test(n)
		case p.token.is("("):
			n = p.call(n)
		default:
			return n
		}
	}
	return n
}

var constants = map[string]bool{"true": true, "false": true, "none": true, "True": true, "False": true, "None": true}

// primary parses a name, a literal or an expression in brackets. A member of a namespace is one
// where it may take a value.
func (p *parser) primary(members bool) int32 {
	t := p.token
	switch {
	case t.kind == name:
		p.advance()
		if constants[t.text] {
			return p.node(constant, t.off, t.text, chain{})
		}
		if members && p.skipOperator(".") {
			member := p.name()
			return p.node(target, member.off, member.text, p.of(p.node(variable, t.off, t.text, chain{})))
		}
		return p.node(variable, t.off, t.text, chain{})
	case t.kind == text:
		p.advance()
		n := p.node(literal, t.off, t.text, chain{})
		p.nodes[n].flag = t.named
		return n
	case t.kind == number, t.kind == float:
		p.advance()
		return p.node(numeric, t.off, t.text, chain{})
	case t.is("("):
		p.advance()
		n := p.group()
		p.expect(")")
		return n
	case t.is("["), t.is("{"):
		return p.display(t)
	}
	p.unexpected()
	return p.nothing()
}

// group parses an expression in parentheses; the node keeps a flag for them.
func (p *parser) group() int32 {
	if at := p.token.off; p.token.is(")") {
		return p.node(group, at, "", chain{})
	}
	n := p.tuple(nil, p.conditional)
	if f := p.nodes[n].form; f == attribute || f == variable {
		p.nodes[n].flag = true
	}
	return n
}

// tuple parses one expression or several with commas. It may end behind a comma, at one of
// the words.
func (p *parser) tuple(until []string, parse func() int32) int32 {
	at, c, several := p.token.off, chain{}, false
	for {
		if c.first != 0 {
			p.expect(",")
		}
		if p.failed || p.err != nil || p.tupleEnds(until) {
			break
		}
		p.add(&c, parse())
		if !p.token.is(",") {
			break
		}
		several = true
	}
	switch {
	case several:
		return p.node(group, at, "", c)
	case c.first == 0:
		p.unexpected()
		return p.nothing()
	}
	return c.first
}

func (p *parser) tupleEnds(until []string) bool {
	if k := p.token.kind; k == close || k == closed || p.token.is(")") {
		return true
	}
	for _, word := range until {
		if p.token.word(word) {
			return true
		}
	}
	return false
}

// display parses a list or a dictionary.
func (p *parser) display(t token) int32 {
	f, ends := list, "]"
	if t.text == "{" {
		f, ends = dictionary, "}"
	}
	p.advance()
	var c chain
	for !p.token.is(ends) && !p.failed && p.err == nil {
		if c.first != 0 {
			if p.expect(","); p.token.is(ends) {
				break
			}
		}
		n := p.conditional()
		if f == dictionary {
			at := p.token.off
			p.expect(":")
			n = p.node(pair, at, "", p.of(n, p.conditional()))
		}
		p.add(&c, n)
	}
	p.expect(ends)
	return p.node(f, t.off, "", c)
}
