package jinja

import "github.com/anamnesis-go/anamnesis/limits"

// A form is what a node is.
type form uint8

const (
	nothing form = iota // an operand that is not there
	// Statements.
	body      // statements, one after the other
	output    // {{ }} and print: expressions
	loopOver  // for: target, iterable, condition or nothing, body, body of else
	branches  // if: a condition and a body, several times, and the body of else
	assign    // set: target, value
	capture   // set without a value: target, filter or nothing, body
	macro     // parameters, then its body
	callBlock // parameters, then the call and the body
	filtered  // filter: the filter and a body
	with      // targets with their values, and a body
	named     // block: its body
	load      // import, from, include, extends: the expression that names the template
	escaped   // autoescape: an expression and a body
	scope     // generation: a body
	// Expressions.
	constant  // true, false, none
	literal   // a string
	numeric   // a number
	variable  // a name
	attribute // of an operand, by name
	subscript // of an operand: its key
	slice     // three operands or nothing
	call      // operand, then arguments
	filter    // operand, then arguments
	test      // operand, then arguments
	keyword   // an argument by its name
	star      // arguments from a value
	starStar  // arguments by name from a value
	group     // a tuple
	list
	dictionary // of pairs
	pair
	conditional // condition, value, other value or nothing
	either      // and, or: two operands
	negation    // not: one operand
	comparison  // operands
	sum         // +: two operands
	arithmetic  // - / // **: two operands
	product     // *: two operands
	modulo      // %: two operands
	concat      // ~: operands
	sign        // + or - before an operand
	target      // namespace.name, as a target
	parameter   // of a macro: its default value or nothing
)

// A node is one of a tree. Children are a list, so that a tree is one slice.
type node struct {
	form   form
	flag   bool   // what it is depends on the form: recursive, negated, in parentheses, named
	height uint16 // of the tree below it
	off    int32
	first  int32 // child, or 0
	next   int32 // sibling, or 0
	text   string
}

// A chain is a list of siblings that grows.
type chain struct{ first, last int32 }

// add appends a node to a chain.
func (p *parser) add(c *chain, n int32) {
	if n == 0 {
		return // of an error
	}
	if c.first == 0 {
		c.first = n
	} else {
		p.nodes[c.last].next = n
	}
	c.last = n
}

// node makes a node above the children of a chain. Each is paid for.
func (p *parser) node(f form, off int, s string, children chain) int32 {
	if p.err != nil {
		return 0
	}
	height := uint16(0)
	for i := children.first; i != 0; i = p.nodes[i].next {
		height = max(height, p.nodes[i].height)
	}
	if height++; height > maxNest {
		p.tooDeep(off)
		return 0
	}
	p.nodes, p.err = limits.Append(p.b, p.nodes, node{form: f, height: height, off: int32(off), first: children.first, text: s})
	if p.err != nil {
		return 0
	}
	return int32(len(p.nodes) - 1)
}

// of is a chain of a few nodes.
func (p *parser) of(nodes ...int32) (c chain) {
	for _, n := range nodes {
		p.add(&c, n)
	}
	return c
}
