package jinja

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A bracket is open.
type bracket struct {
	subscript bool
	braces    bool
	members   string // the function that takes its members by name
	filter    string // the filter whose arguments name attributes
	slice     bool
	commas    int
	made      token // what makes a string, if it has a kind
}

// attributeFilters are filters that look attributes up.
var attributeFilters = map[string]bool{
	"map": true, "select": true, "reject": true, "selectattr": true, "rejectattr": true, "groupby": true, "sort": true,
	"sum": true, "unique": true, "min": true, "max": true, "join": true,
}

// inside checks a token in the innermost bracket.
func (c *checker) inside(b *bracket, t token) {
	switch makes, n := c.names.makes(&c.trail, &c.plus, t), len(c.brackets); {
	case makes && t.kind == text: // it is plain itself, but not what it leads to
		if n > 1 {
			c.brackets[n-2].takes(t)
		}
	case makes:
		b.takes(t)
	case t.is("=") && b.made.kind == name && b.made.off == c.last.off:
		b.made = token{} // the name of an argument
	}
	first := c.last.is("(") || c.last.is("{") || c.last.is(",")
	second := c.before.is("(") || c.before.is("{") || c.before.is(",")
	switch {
	case b.members != "" && first && t.kind != name && !t.is(")"), b.members != "" && second && c.last.kind == name && !t.is("="):
		c.report(t, CodeComputed, "a %s takes its members from a value", b.members)
	case b.members == "dict" && first && t.kind == name && strings.HasPrefix(t.text, "_"):
		c.report(t, CodeComputed, "%s is a piece of a name", wire.Quote(t.text))
	case b.filter != "" && first && t.is("*"):
		c.report(t, CodeComputed, "the filter %s takes its arguments from a value", b.filter)
	case b.braces && t.is(":") && !c.literalKey():
		c.report(t, CodeComputed, "a key is not a string or a number of the template")
	}
	if t.is(":") {
		b.slice = true
	}
	if t.is(",") {
		b.commas++
	}
}

// literalKey reports whether the last token is a key of a dictionary that stands in the template.
func (c *checker) literalKey() bool {
	start := c.before
	if isDigit(c.last) {
		start = c.trail.digits
	}
	return (c.last.kind == text || isDigit(c.last)) && (start.is("{") || start.is(",") || start.is("-"))
}

// takes notes what makes a string, unless it is an argument of a filter that names no attribute.
func (b *bracket) takes(t token) {
	value := b.filter == "join" && b.commas == 0 || strings.HasSuffix(b.filter, "attr") && b.commas > 0
	if b.made.kind == end && !value {
		b.made = t
	}
}

// bracket tracks the open brackets. A bracket after a value is a subscript, else it begins a
// list.
func (c *checker) bracket(t token) {
	switch t.text {
	case "(", "[", "{":
		value := c.last.kind == name && !operandKeywords[c.last.text] || c.last.kind == text || c.last.kind == punct && (c.last.text == ")" || c.last.text == "]" || c.last.text == "}")
		if len(c.brackets) == maxNest {
			c.report(t, CodeSyntax, "brackets nest more than %d deep", maxNest)
			c.brackets = c.brackets[:0]
		}
		b := bracket{subscript: t.text == "[" && value, braces: t.text == "{"}
		if t.text == "(" && c.last.kind == name {
			switch {
			case c.before.is("|") && attributeFilters[c.last.text]:
				b.filter = c.last.text
			case !c.before.is("|") && !c.before.is(".") && (c.last.text == "dict" || c.last.text == "namespace"):
				b.members = c.last.text
			}
		}
		c.brackets = append(c.brackets, b)
		switch {
		case t.text != "[" || !value:
		case c.last.kind == text:
			c.report(t, CodeComputed, "a letter is taken out of a string of the template")
		case c.last.kind == name && !(c.before.kind == punct && c.before.text == ".") && (functions[c.last.text] || c.names.macros[c.last.text]):
			c.report(t, CodeComputed, "%s is asked for an element, and is not data", wire.Quote(c.last.text))
		}
	case ")", "]", "}":
		c.ends()
	}
}

// ends closes the innermost bracket.
func (c *checker) ends() {
	n := len(c.brackets) - 1
	if n < 0 {
		return
	}
	b := c.brackets[n]
	c.brackets = c.brackets[:n]
	if b.made.kind == end {
		return
	}
	switch {
	case b.subscript && !b.slice:
		c.report(b.made, CodeComputed, "a subscript is a string that the template makes")
	case b.filter != "":
		c.report(b.made, CodeComputed, "an attribute that the filter %s looks up is a string that the template makes", b.filter)
	case n > 0:
		c.brackets[n-1].takes(b.made)
	}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
