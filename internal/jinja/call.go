package jinja

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A template may call the functions that it is given, its own macros, and known methods.
// Anything else that is called was computed, which is how a template gets from a subscript to
// the interpreter without naming an attribute. No template may redefine a known name.

// functions are the functions that Jinja, transformers, vLLM and llama.cpp give to templates.
var functions = map[string]bool{
	"range": true, "dict": true, "namespace": true, "raise_exception": true, "strftime_now": true, "caller": true, "loop": true, "super": true,
}

// operandKeywords are the keywords after which a parenthesis begins an operand, not a call.
var operandKeywords = map[string]bool{"if": true, "else": true, "and": true, "or": true, "not": true, "in": true, "is": true}

// statements are the keywords at the beginning of a tag after which a parenthesis begins an
// operand, not a call.
var statements = map[string]bool{"if": true, "elif": true, "for": true, "set": true, "with": true, "call": true, "print": true, "do": true}

// names collects how a template uses names, before anything is judged: a macro may be called
// before it is defined.
type names struct {
	macros   map[string]bool
	assigned map[string]bool // methods that are also variables, attributes, arguments or dictionary keys
	called   map[string]bool
	made     map[string]bool   // variables that may hold a string that the template made
	fed      map[string]uint64 // the arguments of macros that may be such strings, a bit for each
	tangled  bool              // there may be more of them
	held     int64             // what the budget was charged for them
}

// collectNames returns the names of a template.
func collectNames(b *limits.Budget, template string) (names, error) {
	n := names{macros: map[string]bool{}, assigned: map[string]bool{}, called: map[string]bool{}, made: map[string]bool{}, fed: map[string]uint64{}}
	l, steps := lexer{src: template}, b.Steps()
	for before, last := (token{}), (token{}); ; {
		err := steps.Step()
		t := l.next()
		switch {
		case err != nil:
		case t.kind == end:
			return n, n.findMade(b, template)
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

// nameCost is the memory of a name in a map; its text is part of the template, or was charged
// with it.
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

// call checks what precedes an opening parenthesis.
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
	case c.before.kind == punct && c.before.text == "|", c.namesTestOrMacro():
	case statements[last.text] && c.before.kind == open, operandKeywords[last.text]:
	case !functions[last.text] && !globals[last.text] && !c.names.macros[last.text]:
		c.report(last, CodeCall, "%s is called, and is not a function that templates are given", wire.Quote(last.text))
	}
}

// method checks a called method.
func (c *checker) method(t token) {
	switch {
	case strings.HasPrefix(t.text, "_"), unsafeAttributes[t.text]: // reported already
	case !methods[t.text]:
		c.report(t, CodeMethod, "the method %s is not one that templates need", wire.Quote(t.text))
	case c.names.assigned[t.text]:
		c.report(t, CodeCall, "%s is called, and the template gives that name a value", wire.Quote(t.text))
	}
}

// namesTestOrMacro reports whether the last token names a test, a filter block or a macro.
func (c *checker) namesTestOrMacro() bool {
	before, first := c.before, c.first
	if before.kind != name {
		return false
	}
	return before.text == "is" || before.text == "not" && first.kind == name && first.text == "is" ||
		first.kind == open && (before.text == "filter" || before.text == "macro")
}

// checkReuse checks the token after the name of a function that the template calls: the name
// may only be called, tested, or asked for an attribute.
func (c *checker) checkReuse(t token) {
	last := c.last
	if last.kind != name || !c.names.called[last.text] || !functions[last.text] && !c.names.macros[last.text] || c.before.kind == punct && (c.before.text == "." || c.before.text == "|") {
		return
	}
	if t.text != "(" && t.text != "." && t.text != "is" && !(last.text == "caller" && t.kind == punct) {
		c.report(last, CodeCall, "%s is used as a value, or gets another meaning", wire.Quote(last.text))
	}
}

// redefinesKeyword reports whether a keyword is used as the name of a variable.
func (c *checker) redefinesKeyword(word string) bool {
	if !operandKeywords[word] || word == "not" {
		return false
	}
	return c.last.kind == punct && (c.last.text == "(" || c.last.text == ",") ||
		c.last.kind == name && c.before.kind == open && (c.last.text == "set" || c.last.text == "for")
}
