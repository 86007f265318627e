package jinja

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A template may call the functions that it is given, its own macros, and known
// methods. Whatever else is called was computed: it is how a template gets from a
// subscript to the interpreter without naming an attribute. So that a known name
// means what it says, no template may give it another meaning.

// functions are what Jinja, transformers, vLLM and llama.cpp give a template to
// call.
var functions = map[string]bool{
	"range": true, "dict": true, "namespace": true, "raise_exception": true, "strftime_now": true, "caller": true, "loop": true, "super": true,
}

// infix are the words after which a parenthesis holds an operand.
var infix = map[string]bool{"if": true, "else": true, "and": true, "or": true, "not": true, "in": true, "is": true}

// statements begin a tag, and a parenthesis after them holds an operand.
var statements = map[string]bool{"if": true, "elif": true, "for": true, "set": true, "with": true, "call": true, "print": true, "do": true}

// names is what a template does with names, all of it seen before any of it is
// judged: a macro may be called before it is defined.
type names struct {
	macros   map[string]bool
	assigned map[string]bool // methods that are variables, attributes, arguments, or keys of dictionaries too
	called   map[string]bool
	held     int64 // what the account was charged for them
}

// survey collects the names of a template.
func survey(b *limits.Budget, template string) (names, error) {
	n := names{macros: map[string]bool{}, assigned: map[string]bool{}, called: map[string]bool{}}
	l, steps := lexer{src: template}, b.Steps()
	for before, last := (token{}), (token{}); ; {
		err := steps.Step()
		t := l.next()
		switch {
		case err != nil:
		case t.kind == end:
			return n, nil
		case t.kind == name && last.kind == name && last.text == "macro" && before.kind == open:
			err = n.add(b, n.macros, t.text)
		case t.kind == punct && t.text == "=" && last.kind == name && !(before.kind == name && before.text == "set"),
			t.kind == punct && t.text == ":" && last.kind == text:
			if methods[last.text] {
				err = n.add(b, n.assigned, last.text)
			}
		case t.kind == punct && t.text == "(" && last.kind == name && !(before.kind == punct && before.text == "."):
			err = n.add(b, n.called, last.text)
		}
		if err != nil {
			return n, err
		}
		before, last = last, t
	}
}

// nameCost is what a name takes in a map; its text is the template's, or was
// charged with it.
const nameCost = 128

func (n *names) add(b *limits.Budget, to map[string]bool, text string) error {
	if to[text] {
		return nil
	}
	if err := b.Hold(nameCost); err != nil {
		return err
	}
	n.held += nameCost
	to[text] = true
	return nil
}

// call looks at what stands before an opening parenthesis.
func (c *checker) call(t token) {
	if t.text != "(" {
		return
	}
	switch last := c.last; {
	case last.kind == text, last.kind == punct && (last.text == ")" || last.text == "]" || last.text == "}"):
		c.report(t, CodeCall, "the result of an expression is called")
	case last.kind != name:
	case c.before.kind == punct && c.before.text == ".":
		c.method(last)
	case c.before.kind == punct && c.before.text == "|", c.named():
	case statements[last.text] && c.before.kind == open, infix[last.text]:
	case !functions[last.text] && !globals[last.text] && !c.names.macros[last.text]:
		c.report(last, CodeCall, "%s is called, and is not a function that templates are given", wire.Quote(last.text))
	}
}

// method looks at a method that is called.
func (c *checker) method(t token) {
	switch {
	case strings.HasPrefix(t.text, "_"), escapes[t.text]: // said already
	case !methods[t.text]:
		c.report(t, CodeMethod, "the method %s is not one that templates need", wire.Quote(t.text))
	case c.names.assigned[t.text]:
		c.report(t, CodeCall, "%s is called, and the template gives that name a value", wire.Quote(t.text))
	}
}

// named reports that the last token is the name of a test, of the filter of a
// block, or of a macro.
func (c *checker) named() bool {
	before, first := c.before, c.first
	if before.kind != name {
		return false
	}
	return before.text == "is" || before.text == "not" && first.kind == name && first.text == "is" ||
		first.kind == open && (before.text == "filter" || before.text == "macro")
}

// shadow looks at the token after the name of a function that the template
// calls, which must leave the name what it is: called, asked whether it is there,
// or asked for an attribute.
func (c *checker) shadow(t token) {
	last := c.last
	if last.kind != name || !c.names.called[last.text] || !functions[last.text] && !c.names.macros[last.text] || c.before.kind == punct && (c.before.text == "." || c.before.text == "|") {
		return
	}
	if t.text != "(" && t.text != "." && t.text != "is" && !(last.text == "caller" && t.kind == punct) {
		c.report(last, CodeCall, "%s is used as a value, or gets another meaning", wire.Quote(last.text))
	}
}

// reserved reports a word of Jinja's own where a variable is named.
func (c *checker) reserved(word string) bool {
	if !infix[word] || word == "not" {
		return false
	}
	return c.last.kind == punct && (c.last.text == "(" || c.last.text == ",") ||
		c.last.kind == name && c.before.kind == open && (c.last.text == "set" || c.last.text == "for")
}
