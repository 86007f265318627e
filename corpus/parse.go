package corpus

import (
	"fmt"
	"strings"
)

// A parser turns tokens into nodes. It checks everything that does not depend on built
// bytes, and reports the line.
type parser struct {
	toks    []token
	repeats []*bool // for each enclosing repeat, whether its repetitions differ
	verbs   map[string]verb
}

// A verb parses its operands and returns the node that writes them.
type verb func(p *parser) (node, error)

func (p *parser) peek() token { return p.toks[0] }

func (p *parser) next() token {
	t := p.toks[0]
	if t.kind != endOfFile {
		p.toks = p.toks[1:]
	}
	return t
}

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.peek().line, fmt.Sprintf(format, args...))
}

// block parses statements up to the end of the file, or to } and past it.
func (p *parser) block(end kind) (node, error) {
	var nodes []node
	for {
		switch t := p.peek(); {
		case t.kind == endOfLine:
			p.next()
		case t.kind == end:
			p.next()
			return sequence(nodes), nil
		case t.kind == word:
			n, err := p.statement()
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		default:
			return nil, p.fail("expected a verb, found %v", t)
		}
	}
}

func (p *parser) statement() (node, error) {
	if p.verbs == nil {
		p.verbs = verbs()
	}
	t := p.next()
	read, ok := p.verbs[t.text]
	if !ok {
		return nil, fmt.Errorf("line %d: unknown verb %q", t.line, t.text)
	}
	n, err := read(p)
	if err != nil {
		return nil, err
	}
	if k := p.peek().kind; k != endOfLine && k != endOfFile && k != shut {
		return nil, p.fail("%s: unexpected %v", t.text, p.peek())
	}
	return withLine(t, n), nil
}

// withLine adds the line to errors of a node.
func withLine(t token, n node) node {
	return func(b *builder) error {
		err := n(b)
		if err == nil || strings.HasPrefix(err.Error(), "line ") {
			return err
		}
		return fmt.Errorf("line %d: %s: %w", t.line, t.text, err)
	}
}

func sequence(nodes []node) node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return func(b *builder) error {
		for _, n := range nodes {
			if err := n(b); err != nil {
				return err
			}
		}
		return nil
	}
}

// body parses { ... }.
func (p *parser) body() (node, error) {
	if p.peek().kind != open {
		return nil, p.fail("expected {, found %v", p.peek())
	}
	p.next()
	return p.block(shut)
}

func (p *parser) text() (string, error) {
	if p.peek().kind != text {
		return "", p.fail(`expected text in quotes, found %v`, p.peek())
	}
	return p.next().text, nil
}

func (p *parser) number() (expr, error) {
	if p.peek().kind != word {
		return expr{}, p.fail("expected a number, found %v", p.peek())
	}
	e, err := parseExpr(p.peek().text)
	if err != nil {
		return e, p.fail("%v", err)
	}
	if e.repeatDepth() > len(p.repeats) {
		return e, p.fail("%s: this counter is not inside of enough repeats", p.peek().text)
	}
	for n := range e.repeatDepth() {
		if e.factors[n].abs != 0 {
			*p.repeats[len(p.repeats)-1-n] = true
		}
	}
	p.next()
	return e, nil
}

// dependsOnPosition notes that the bytes of this verb depend on their position, so that
// the enclosing repeats must build each repetition.
func (p *parser) dependsOnPosition() {
	for _, differs := range p.repeats {
		*differs = true
	}
}

// more reports whether the statement has another operand.
func (p *parser) more() bool {
	k := p.peek().kind
	return k == word || k == text
}

// attrs parses key=value pairs. A value is a number, a text, or a block.
func (p *parser) attrs(known func(key string) bool) (attrs, error) {
	out := attrs{}
	for p.peek().kind == label {
		key := p.peek().text
		if !known(key) {
			return nil, p.fail("unknown %s=", key)
		}
		if _, twice := out[key]; twice {
			return nil, p.fail("%s= repeated", key)
		}
		p.next()
		var v attr
		var err error
		switch p.peek().kind {
		case text:
			v.text, v.kind = p.next().text, text
		case open:
			v.kind = open
			v.body, err = p.body()
		case word:
			v.kind, v.text = word, p.peek().text
			if strings.ContainsAny(v.text[:1], "0123456789-") || strings.Contains(counterNames, v.text[:1]) && len(v.text) == 1 {
				v.isNumber = true
				v.number, err = p.number()
			} else {
				p.next()
			}
		default:
			err = p.fail("%s= needs a value, not %v", key, p.peek())
		}
		if err != nil {
			return nil, err
		}
		out[key] = v
	}
	return out, nil
}

type attr struct {
	kind     kind // word, text or open
	text     string
	isNumber bool
	number   expr
	body     node
}

type attrs map[string]attr

// methods are the named compression methods.
var methods = map[string]uint64{"store": 0, "deflate": 8}

// num returns a number attribute, or def.
func (a attrs) num(b *builder, key string, def uint64) (number, error) {
	v, ok := a[key]
	if !ok {
		return number{abs: def}, nil
	}
	if n, ok := methods[v.text]; ok && strings.HasSuffix(key, "method") {
		return number{abs: n}, nil
	}
	if !v.isNumber {
		return number{}, fmt.Errorf("%s= needs a number", key)
	}
	return v.number.eval(b.counters)
}

// bytes returns a block or text attribute, or nil.
func (a attrs) bytes(b *builder, key string) ([]byte, error) {
	switch v := a[key]; v.kind {
	case open:
		return b.buildBlock(v.body)
	case text:
		return []byte(v.text), nil
	case endOfFile:
		return nil, nil
	default:
		return nil, fmt.Errorf(`%s= needs { ... } or "..."`, key)
	}
}

// word returns a word attribute, or def.
func (a attrs) word(key, def string) string {
	if v, ok := a[key]; ok {
		return v.text
	}
	return def
}
