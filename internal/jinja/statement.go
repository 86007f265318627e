package jinja

// statement parses the tag of a statement, from its word, and what belongs to it.
func (p *parser) statement() int32 {
	t := p.token
	if t.kind != name {
		p.fail(t.off, "a statement has no name")
		return p.nothing()
	}
	parse := statementParser(t.text)
	if parse == nil {
		p.fail(t.off, "Jinja has no statement here that begins so")
		return p.nothing()
	}
	p.advance()
	return parse(p, t)
}

// statementParser returns what parses the statement of a word, or nil.
func statementParser(word string) func(*parser, token) int32 {
	switch word {
	case "for":
		return (*parser).forLoop
	case "if":
		return (*parser).ifElse
	case "set":
		return (*parser).set
	case "macro":
		return (*parser).macro
	case "call":
		return (*parser).callBlock
	case "filter":
		return (*parser).filterBlock
	case "with":
		return (*parser).with
	case "block":
		return (*parser).named
	case "print":
		return (*parser).print
	case "do":
		return (*parser).do
	case "import", "from", "include", "extends":
		return (*parser).load
	case "autoescape":
		return (*parser).autoescape
	case "break", "continue":
		return (*parser).jump
	case "generation":
		return (*parser).generation
	case "trans":
		return (*parser).trans
	}
	return nil
}

func (p *parser) forLoop(t token) int32 {
	to := p.target(true, "in")
	if !p.skip("in") {
		p.unexpected()
	}
	over := p.tuple([]string{"recursive"}, p.or)
	condition, other := p.nothing(), p.nothing()
	if p.skip("if") {
		condition = p.conditional()
	}
	recursive := p.skip("recursive")
	do := p.block("endfor", "else")
	if p.skip("else") {
		other = p.closedBlock("endfor")
	} else {
		p.skip("endfor")
	}
	n := p.node(loopOver, t.off, "", p.of(to, over, condition, do, other))
	p.nodes[n].flag = recursive
	return n
}

func (p *parser) ifElse(t token) int32 {
	var c chain
	for {
		p.add(&c, p.tuple(nil, p.or))
		p.add(&c, p.block("elif", "else", "endif"))
		if p.skip("elif") {
			continue
		}
		if p.skip("else") {
			p.add(&c, p.closedBlock("endif"))
		} else {
			p.skip("endif")
		}
		return p.node(branches, t.off, "", c)
	}
}

func (p *parser) set(t token) int32 {
	to := p.target(true)
	if p.skipOperator("=") {
		return p.node(assign, t.off, "", p.of(to, p.tuple(nil, p.conditional)))
	}
	through := p.filters(p.nothing())
	if p.token.kind != close && !p.token.is(":") { // what follows is no body
		p.unexpected()
		return p.nothing()
	}
	return p.node(capture, t.off, "", p.of(to, through, p.closedBlock("endset")))
}

// parameters parses those of a macro or of a call.
func (p *parser) parameters(c *chain) {
	p.expect("(")
	for first, defaults := true, false; !p.token.is(")") && !p.failed && p.err == nil; first = false {
		if !first {
			p.expect(",")
		}
		t := p.name()
		value := p.nothing()
		if p.skipOperator("=") {
			value, defaults = p.conditional(), true
		} else if defaults {
			p.fail(t.off, "a parameter without a default follows one with a default")
		}
		p.add(c, p.node(parameter, t.off, t.text, p.of(value)))
	}
	p.expect(")")
}

func (p *parser) macro(t token) int32 {
	var c chain
	called := p.name()
	p.parameters(&c)
	p.add(&c, p.closedBlock("endmacro"))
	return p.node(macro, called.off, called.text, c)
}

func (p *parser) callBlock(t token) int32 {
	var c chain
	if p.token.is("(") {
		p.parameters(&c)
	}
	n := p.conditional()
	if p.nodes[n].form != call {
		p.fail(t.off, "the statement call has no call")
	}
	p.add(&c, n)
	p.add(&c, p.closedBlock("endcall"))
	return p.node(callBlock, t.off, "", c)
}

func (p *parser) filterBlock(t token) int32 {
	n := p.filters(p.filter(p.nothing()))
	return p.node(filtered, t.off, "", p.of(n, p.closedBlock("endfilter")))
}

func (p *parser) with(t token) int32 {
	var c chain
	for p.token.kind != close && !p.failed && p.err == nil {
		if c.first != 0 {
			p.expect(",")
		}
		to := p.target(false)
		p.expect("=")
		p.add(&c, p.node(assign, t.off, "", p.of(to, p.conditional())))
	}
	p.add(&c, p.closedBlock("endwith"))
	return p.node(with, t.off, "", c)
}

func (p *parser) named(t token) int32 {
	called := p.name()
	p.skip("scoped")
	p.skip("required")
	n := p.closedBlock("endblock")
	p.skip(called.text)
	return p.node(named, t.off, called.text, p.of(n))
}

func (p *parser) print(t token) int32 {
	var c chain
	for p.token.kind != close && !p.failed && p.err == nil {
		if c.first != 0 {
			p.expect(",")
		}
		p.add(&c, p.conditional())
	}
	return p.node(output, t.off, "", c)
}

func (p *parser) do(t token) int32 {
	return p.node(output, t.off, "", p.of(p.tuple(nil, p.conditional)))
}

// load parses a statement that loads another template. It is refused, so the rest of its tag
// does not matter.
func (p *parser) load(t token) int32 {
	p.problem(t.off, CodeImport, "the statement "+t.text+" loads another template")
	for p.token.kind != close && p.token.kind != end && !p.failed && p.err == nil {
		p.advance()
	}
	return p.node(load, t.off, t.text, chain{})
}

func (p *parser) autoescape(t token) int32 {
	on := p.conditional()
	return p.node(escaped, t.off, "", p.of(on, p.closedBlock("endautoescape")))
}

func (p *parser) jump(t token) int32 { return p.node(body, t.off, "", chain{}) }

func (p *parser) generation(t token) int32 {
	return p.node(scope, t.off, "", p.of(p.closedBlock("endgeneration")))
}

// trans parses a text that is translated by functions that the template does not name.
func (p *parser) trans(t token) int32 {
	p.problem(t.off, CodeCall, "the statement trans calls functions that templates are not given")
	for p.token.kind != close && p.token.kind != end && !p.failed && p.err == nil {
		p.advance()
	}
	n := p.block("pluralize", "endtrans")
	if p.skip("pluralize") {
		for p.token.kind != close && p.token.kind != end && !p.failed && p.err == nil {
			p.advance()
		}
		p.add(&chain{n, n}, p.closedBlock("endtrans"))
	} else {
		p.skip("endtrans")
	}
	return n
}

// target parses what takes a value: a name, a member of a namespace, or several.
func (p *parser) target(members bool, until ...string) int32 {
	at := p.token.off
	n := p.tuple(until, func() int32 { return p.primary(members && len(until) == 0) })
	if !p.failed && !p.assignable(n) {
		p.fail(at, "what takes a value is not a variable")
	}
	return n
}

func (p *parser) assignable(n int32) bool {
	switch p.nodes[n].form {
	case variable, target:
		return true
	case group:
		for i := p.nodes[n].first; i != 0; i = p.nodes[i].next {
			if !p.assignable(i) {
				return false
			}
		}
		return true
	}
	return false
}
