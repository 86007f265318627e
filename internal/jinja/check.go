package jinja

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxIssues is how many places one template may fill a report with.
const MaxIssues = 16

// maxNest is how deep brackets may stand in each other: far deeper than in any
// template, and shallower than Jinja's own parser gets.
const maxNest = 1000

// The codes of issues.
const (
	CodeDunder   = "dunder"   // an internal attribute is named
	CodeAttr     = "attr"     // an attribute is looked up by the filter made for it
	CodeComputed = "computed" // a name is put together from pieces
	CodeImport   = "import"   // another template is loaded
	CodeMethod   = "method"   // a method outside the known harmless ones is called
	CodeGlobal   = "global"   // a name that leads into the interpreter
	CodeCall     = "call"     // what is called is computed, or a name that stands for it
	CodeSyntax   = "syntax"   // Jinja itself would not read this
)

// An Issue is one place in a template.
type Issue struct {
	Code string
	Off  int    // bytes from the start of the template
	Text string // what was found, quoted
}

// Check returns the places of a template that reach outside it, in order. Each
// token is a step; the names that are kept of it are charged while it runs.
func Check(b *limits.Budget, template string) ([]Issue, error) {
	names, err := survey(b, template)
	defer func() { b.Drop(names.held) }()
	if err != nil {
		return nil, err
	}
	c := checker{lex: lexer{src: template}, names: names}
	for steps := b.Steps(); len(c.issues) < MaxIssues; {
		if err := steps.Step(); err != nil {
			return nil, err
		}
		t := c.lex.next()
		if t.kind == end {
			break
		}
		c.token(t)
		c.first, c.before, c.last = c.before, c.last, t
	}
	slices.SortFunc(c.issues, func(a, b Issue) int { return a.Off - b.Off })
	return c.issues, nil
}

type checker struct {
	lex          lexer
	first        token // the third last
	before, last token
	nest         []bool // brackets that are open: true for a subscript
	piece        token  // the first piece of a name in this tag, if its kind is text
	joining      bool   // something in this tag joins pieces
	names        names
	issues       []Issue
}

// report notes the first thing found at a place.
func (c *checker) report(t token, code, format string, args ...any) {
	known := slices.ContainsFunc(c.issues, func(i Issue) bool { return i.Off == t.off })
	if !known && len(c.issues) < MaxIssues {
		c.issues = append(c.issues, Issue{code, t.off, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) token(t token) {
	switch t.kind {
	case bad:
		c.report(t, CodeSyntax, "%s", t.text)
	case open, close:
		c.nest = c.nest[:0]
		c.piece, c.joining = token{}, false
	case text:
		c.text(t)
	case name:
		c.shadow(t)
		c.name(t)
	case punct:
		c.call(t)
		c.shadow(t)
		c.joined(t)
		c.bracket(t)
	}
}

func (c *checker) text(t token) {
	switch {
	case strings.Contains(t.text, "__"):
		c.report(t, CodeDunder, "the string %s names an internal attribute", wire.Quote(t.text))
	case leadsInside(t.text):
		c.report(t, CodeDunder, "the string %s names an attribute that leads into the interpreter", wire.Quote(t.text))
	case t.text == "attr" && c.last.kind == punct && c.last.text == "(" && filters[c.before.text]:
		c.report(t, CodeAttr, "the filter attr is applied through %s", c.before.text)
	case strings.Contains(t.text, "%c"), isPiece(t) && c.last.kind == punct && joins[c.last.text]:
		c.report(t, CodeComputed, "the string %s is a piece of a name", wire.Quote(t.text))
	case isPiece(t) && c.piece.kind != text:
		c.piece = t
		c.joinedInTag()
	}
}

// leadsInside reports a string that names one of the escapes: as a subscript it
// finds the attribute, and filters take a path of them.
func leadsInside(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if escapes[part] && part != "format" && part != "format_map" {
			return true
		}
	}
	return false
}

// joinedInTag looks for a piece and what joins it in one tag, in any order.
func (c *checker) joinedInTag() {
	if c.joining && c.piece.kind == text {
		c.report(c.piece, CodeComputed, "the string %s is a piece of a name", wire.Quote(c.piece.text))
	}
}

// joined looks at an operator after a piece of a name, and at one that computes
// a subscript.
func (c *checker) joined(t token) {
	if t.text == "%" && c.last.kind == text {
		c.joining = true
		c.joinedInTag()
	}
	switch {
	case joins[t.text] && isPiece(c.last):
		c.report(c.last, CodeComputed, "the string %s is a piece of a name", wire.Quote(c.last.text))
	case (t.text == "~" || t.text == "|") && len(c.nest) > 0 && c.nest[len(c.nest)-1]:
		c.report(t, CodeComputed, "a subscript is put together from pieces")
	}
}

// joins are the operators that put strings together or change them.
var joins = map[string]bool{"~": true, "+": true, "*": true, "%": true, "|": true}

// isPiece reports a string that an internal name could be put together from.
func isPiece(t token) bool {
	return t.kind == text && (strings.HasPrefix(t.text, "_") || strings.HasSuffix(t.text, "_"))
}

// bracket keeps which brackets are open. A bracket after a value is a
// subscript, else it begins a list.
func (c *checker) bracket(t token) {
	switch t.text {
	case "(", "[", "{":
		value := c.last.kind == name || c.last.kind == text || c.last.kind == punct && (c.last.text == ")" || c.last.text == "]")
		if len(c.nest) == maxNest {
			c.report(t, CodeSyntax, "brackets nest more than %d deep", maxNest)
			c.nest = c.nest[:0]
		}
		c.nest = append(c.nest, t.text == "[" && value)
	case ")", "]", "}":
		c.nest = c.nest[:max(0, len(c.nest)-1)]
	}
}

// filters apply another filter that they are given by name.
var filters = map[string]bool{"map": true, "select": true, "reject": true, "selectattr": true, "rejectattr": true}

func (c *checker) name(t token) {
	if (c.afterDot() || c.afterPipe()) && (fillers[t.text] || c.before.kind == text && formats[t.text]) {
		c.joining = true
		c.joinedInTag()
	}
	switch {
	case c.last.kind == open && loaders[t.text]:
		c.report(t, CodeImport, "the statement %s loads another template", t.text)
	case (c.afterPipe() || c.last.text == "filter" && c.before.kind == open) && t.text == "attr":
		c.report(t, CodeAttr, "the filter attr looks an attribute up by name")
	case strings.Contains(t.text, "__"), c.afterDot() && strings.HasPrefix(t.text, "_"):
		c.report(t, CodeDunder, "%s names an internal attribute", wire.Quote(t.text))
	case c.afterDot():
		if escapes[t.text] && !(t.text == "format" && c.before.kind == text && plainFields(c.before.text)) {
			c.report(t, CodeDunder, "the attribute %s leads into the interpreter", t.text)
		}
	case globals[t.text]:
		c.report(t, CodeGlobal, "%s leads into the interpreter", t.text)
	case c.reserved(t.text):
		c.report(t, CodeCall, "%s gets another meaning", wire.Quote(t.text))
	}
}

// plainFields reports a format string that only puts its arguments in place:
// no field of it reaches an attribute or an element.
func plainFields(s string) bool {
	for {
		_, field, ok := strings.Cut(s, "{")
		if !ok {
			return true
		}
		field, s, ok = strings.Cut(field, "}")
		if !ok || strings.ContainsAny(field, ".[{") {
			return false
		}
	}
}

func (c *checker) afterDot() bool  { return c.last.kind == punct && c.last.text == "." }
func (c *checker) afterPipe() bool { return c.last.kind == punct && c.last.text == "|" }

// fillers are the methods and filters that put a piece between or around others.
var fillers = map[string]bool{"join": true, "center": true, "ljust": true, "rjust": true}

// formats put a piece into a string that stands before them. Of a variable they
// are honest: many a template replaces the dashes of a name.
var formats = map[string]bool{"format": true, "replace": true}

// loaders are the statements that bring in another template.
var loaders = map[string]bool{"import": true, "from": true, "include": true, "extends": true}

// globals are Jinja's own names that are known first steps of an escape, and
// those of the web frameworks that templates have been attacked through.
var globals = map[string]bool{
	"lipsum": true, "cycler": true, "joiner": true, "self": true, "config": true, "request": true,
	"url_for": true, "get_flashed_messages": true, "builtins": true, "eval": true, "exec": true, "open": true,
	"getattr": true, "setattr": true, "globals": true, "locals": true, "vars": true, "compile": true, "environment": true,
}

// escapes are attributes without underscores that lead from a value into the
// interpreter: the names that Jinja's own sandbox refuses, and str.format, which
// evaluates attributes in its argument's braces.
var escapes = map[string]bool{
	"mro": true, "func_globals": true, "func_code": true, "func_closure": true, "func_defaults": true,
	"gi_frame": true, "gi_code": true, "gi_yieldfrom": true, "cr_frame": true, "cr_code": true, "cr_await": true, "cr_origin": true,
	"ag_frame": true, "ag_code": true, "ag_await": true, "f_globals": true, "f_locals": true, "f_builtins": true, "f_back": true,
	"f_code": true, "tb_frame": true, "tb_next": true, "co_code": true, "im_class": true, "im_func": true, "im_self": true,
	"format": true, "format_map": true,
}

// methods are those of strings, lists and dictionaries that change nothing
// outside the template, with the helpers of the loop variable.
var methods = map[string]bool{
	"strip": true, "lstrip": true, "rstrip": true, "split": true, "rsplit": true, "splitlines": true, "partition": true, "rpartition": true,
	"startswith": true, "endswith": true, "removeprefix": true, "removesuffix": true, "upper": true, "lower": true, "title": true,
	"capitalize": true, "casefold": true, "swapcase": true, "replace": true, "join": true, "find": true, "rfind": true, "index": true,
	"count": true, "isdigit": true, "isalpha": true, "isalnum": true, "isspace": true, "isupper": true, "islower": true, "isnumeric": true,
	"isdecimal": true, "isidentifier": true, "zfill": true, "ljust": true, "rjust": true, "center": true, "expandtabs": true, "encode": true,
	"items": true, "keys": true, "values": true, "get": true, "copy": true, "append": true, "extend": true, "insert": true, "pop": true,
	"remove": true, "reverse": true, "sort": true, "update": true, "setdefault": true, "cycle": true, "changed": true,
	"strftime": true, "isoformat": true,
}
