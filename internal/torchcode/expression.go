package torchcode

import (
	"strings"
)

// tuple reads expressions with commas between them.
func (p *parser) tuple() error {
	for {
		if err := p.expression(); err != nil {
			return err
		}
		comma, err := p.skip(",")
		if err != nil || !comma {
			return err
		}
		if p.t.kind == newline || p.t.kind == end || p.t.is(")") || p.t.is(":") || p.t.kind == punct && assignments[p.t.text] {
			return nil
		}
	}
}

// binary are the operators between two values.
var binary = map[string]bool{
	"+": true, "-": true, "*": true, "/": true, "%": true, "@": true, "//": true, "**": true, "<": true, ">": true, "<=": true, ">=": true, "==": true, "!=": true,
	"|": true, "&": true, "^": true, "<<": true, ">>": true,
}

// expression reads values with operators between them, whatever their precedence: it changes no
// name.
func (p *parser) expression() error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	for {
		if err := p.operand(); err != nil {
			return err
		}
		more, err := p.operator()
		if err != nil || !more {
			return err
		}
	}
}

// operator reads what joins two values, and reports whether another follows.
func (p *parser) operator() (bool, error) {
	switch {
	case p.t.kind == punct && binary[p.t.text]:
		return true, p.next()
	case p.t.kind != name:
		return false, nil
	}
	switch p.t.text {
	case "and", "or", "in":
		return true, p.next()
	case "is":
		err := p.next()
		if err == nil {
			_, err = p.skip("not")
		}
		return true, err
	case "not":
		if err := p.next(); err != nil {
			return false, err
		}
		return true, p.expect("in")
	case "if":
		if err := p.next(); err != nil {
			return false, err
		}
		if err := p.expression(); err != nil {
			return false, err
		}
		return true, p.expect("else")
	case "for":
		return true, p.comprehension()
	}
	return false, nil
}

// comprehension reads "for x in", of a list or a loop.
func (p *parser) comprehension() error {
	err := p.next()
	from := len(p.used)
	if err == nil {
		err = p.targets()
	}
	if err == nil {
		err = p.bindUsed(from)
	}
	if err == nil {
		err = p.expect("in")
	}
	return err
}

// targets reads what a loop assigns: names, and tuples of them.
func (p *parser) targets() error {
	for !p.t.word("in") {
		if err := p.operand(); err != nil {
			return err
		}
		if comma, err := p.skip(","); err != nil || !comma {
			return err
		}
	}
	return nil
}

// operand reads a value and what follows it: attributes, arguments, subscripts.
func (p *parser) operand() error {
	for p.t.is("-") || p.t.is("~") || p.t.is("*") || p.t.word("not") {
		if err := p.next(); err != nil {
			return err
		}
	}
	if err := p.atom(); err != nil {
		return err
	}
	for {
		var err error
		switch {
		case p.t.is("."):
			err = p.attribute()
		case p.t.is("("):
			err = p.arguments()
		case p.t.is("["):
			err = p.items("[", "]", p.subscript)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) atom() error {
	switch {
	case p.t.kind == number, p.t.is("..."):
		return p.next()
	case p.t.kind == text:
		for p.t.kind == text { // adjacent strings are one
			if err := p.next(); err != nil {
				return err
			}
		}
		return nil
	case p.t.is("("):
		return p.items("(", ")", p.expression)
	case p.t.is("["):
		return p.items("[", "]", p.expression)
	case p.t.is("{"):
		return p.items("{", "}", p.entry)
	case p.t.kind != name:
		return p.fail("expected a value")
	}
	switch p.t.text {
	case "True", "False", "None", "NoneType", "Ellipsis":
		return p.next()
	}
	line := p.t.line
	id, err := p.identifier()
	if err != nil {
		return err
	}
	return p.root(id, line)
}

// items reads a list in brackets.
func (p *parser) items(open, closed string, item func() error) error {
	if err := p.expect(open); err != nil {
		return err
	}
	for !p.t.is(closed) {
		if err := item(); err != nil {
			return err
		}
		if !p.t.is(closed) {
			if err := p.expect(","); err != nil {
				return err
			}
		}
	}
	return p.next()
}

func (p *parser) entry() error {
	if err := p.expression(); err != nil {
		return err
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	return p.expression()
}

// subscript reads an index or a slice.
func (p *parser) subscript() error {
	for colons := 0; ; {
		if !p.t.is(":") && !p.t.is("]") && !p.t.is(",") {
			if err := p.expression(); err != nil {
				return err
			}
		}
		if !p.t.is(":") {
			return nil
		}
		if colons++; colons > 2 {
			return p.fail("a slice of more than three parts")
		}
		if err := p.next(); err != nil {
			return err
		}
	}
}

// arguments reads those of a call.
func (p *parser) arguments() error {
	return p.items("(", ")", func() error {
		named := p.t.kind == name && !keywords[p.t.text] && p.isNamed()
		if named {
			if err := p.next(); err != nil {
				return err
			}
			if err := p.expect("="); err != nil {
				return err
			}
		}
		return p.expression()
	})
}

// isNamed reports whether the name that the lexer has just passed is that of an argument.
func (p *parser) isNamed() bool {
	rest := strings.TrimLeft(p.lex.src[p.lex.off:], " \n")
	return strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==")
}

// attribute reads a dot and a name after a value.
func (p *parser) attribute() error {
	if err := p.next(); err != nil {
		return err
	}
	line := p.t.line
	id, err := p.identifier()
	if err != nil {
		return err
	}
	return p.c.attribute(id, place{p.file, line})
}

// root reads the rest of what begins with a name.
func (p *parser) root(id string, line int) error {
	switch id {
	case "torch", "ops":
		return p.operatorName(id, line)
	case "__torch__":
		return p.qualified(line)
	case "CONSTANTS":
		if err := p.expect("."); err != nil {
			return err
		}
		if number, ok := strings.CutPrefix(p.t.text, "c"); !ok || strings.Trim(number, "0123456789") != "" {
			return p.fail("a constant without a number")
		}
		return p.next()
	case "getattr", "hasattr":
		return p.getattr()
	}
	if _, known := builtins[id]; known {
		return p.judgeRoot(id, line)
	}
	return p.use(id, line)
}

// judgeRoot judges a name as a function that the compiler knows.
func (p *parser) judgeRoot(id string, line int) error {
	if to := builtins[id]; to != "" {
		return p.operator1(to, line)
	}
	return nil
}

// operatorName reads torch.NAME or ops.SPACE.NAME.
func (p *parser) operatorName(id string, line int) error {
	space := "aten"
	if id == "ops" {
		if err := p.expect("."); err != nil {
			return err
		}
		var err error
		if space, err = p.identifier(); err != nil {
			return err
		}
	}
	if err := p.expect("."); err != nil {
		return err
	}
	n, err := p.identifier()
	if err != nil {
		return err
	}
	return p.operator1(space+"::"+n, line)
}

// operator1 judges an operator.
func (p *parser) operator1(id string, line int) error {
	if messages[id] {
		return nil
	}
	if why := Operator(id); why != "" {
		return p.problem(impureOperator, line, "operator "+id+" ("+why+")")
	}
	return nil
}

// qualified reads the rest of __torch__.A.B.
func (p *parser) qualified(line int) error {
	full := []byte("__torch__")
	for p.t.is(".") {
		if err := p.next(); err != nil {
			return err
		}
		id, err := p.identifier()
		if err != nil {
			return err
		}
		if len(full)+len(id) > maxQualified {
			return p.fail("a name of more than 4096 letters")
		}
		full = append(append(full, '.'), id...)
	}
	return p.c.refer(string(full), place{p.file, line})
}

// maxQualified bounds the name of a class with those of the files that it is in.
const maxQualified = 4096

// getattr reads the arguments of getattr(VALUE, "NAME"), whose name must be a string.
func (p *parser) getattr() error {
	if err := p.expect("("); err != nil {
		return err
	}
	if err := p.expression(); err != nil {
		return err
	}
	if err := p.expect(","); err != nil {
		return err
	}
	id := p.t
	if id.kind != text || strings.Contains(id.text, `\`) {
		return p.fail("the name of an attribute that is not a plain string")
	}
	if err := p.next(); err != nil {
		return err
	}
	if err := p.c.attribute(id.text, place{p.file, id.line}); err != nil {
		return err
	}
	for !p.t.is(")") {
		if err := p.expect(","); err != nil {
			return err
		}
		if p.t.is(")") {
			break
		}
		if err := p.expression(); err != nil {
			return err
		}
	}
	return p.next()
}
