package jinja

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxIssues bounds the reported issues of one template.
const MaxIssues = 16

// maxNest bounds the nesting of brackets: far deeper than in any template, and shallower than
// the limit of Jinja's own parser.
const maxNest = 1000

// The codes of issues.
const (
	CodeDunder   = "dunder"   // an internal attribute is named
	CodeAttr     = "attr"     // an attribute is looked up by the filter made for it
	CodeComputed = "computed" // a name is assembled from pieces
	CodeImport   = "import"   // another template is loaded
	CodeMethod   = "method"   // a method outside the known harmless ones is called
	CodeGlobal   = "global"   // a global leads into the interpreter
	CodeCall     = "call"     // the called function is computed, or its name is redefined
	CodeSyntax   = "syntax"   // Jinja itself would reject this
)

// An Issue is a problem at a place in a template.
type Issue struct {
	Code string
	Off  int    // bytes from the start of the template
	Text string // what was found, quoted
}

// Check returns the places at which a template reaches outside itself, in order. Each token is a
// step; names that are kept are charged while Check runs.
func Check(b *limits.Budget, template string) ([]Issue, error) {
	names, err := collectNames(b, template)
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
		c.trail.push(t)
	}
	if names.tangled {
		c.report(token{}, CodeComputed, "what is made of what takes more than %d passes", maxPasses)
	}
	slices.SortFunc(c.issues, func(a, b Issue) int { return a.Off - b.Off })
	return c.issues, nil
}

type checker struct {
	lex          lexer
	first        token // the token before before
	before, last token
	brackets     []bracket
	piece        token // the first piece of a name in this tag, if its kind is text
	joins        bool  // something in this tag joins pieces
	names        names
	trail        trail
	plus         bool
	issues       []Issue
}

// report adds an issue, unless there is one at the same place.
func (c *checker) report(t token, code, format string, args ...any) {
	known := slices.ContainsFunc(c.issues, func(i Issue) bool { return i.Off == t.off })
	if !known && len(c.issues) < MaxIssues {
		c.issues = append(c.issues, Issue{code, t.off, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) token(t token) {
	if n := len(c.brackets); n > 0 {
		c.inside(&c.brackets[n-1], t)
	}
	switch t.kind {
	case bad:
		c.report(t, CodeSyntax, "%s", t.text)
	case open, close:
		c.brackets = c.brackets[:0]
		c.piece, c.joins = token{}, false
	case text:
		c.text(t)
	case name:
		c.checkReuse(t)
		c.name(t)
	case punct:
		c.call(t)
		c.checkReuse(t)
		c.checkJoin(t)
		c.bracket(t)
	}
}

func (c *checker) text(t token) {
	switch {
	case t.named:
		c.report(t, CodeComputed, "a string spells a character by its name")
	case strings.Contains(t.text, "__"):
		c.report(t, CodeDunder, "the string %s names an internal attribute", wire.Quote(t.text))
	case leadsInside(t.text):
		c.report(t, CodeDunder, "the string %s names an attribute that leads into the interpreter", wire.Quote(t.text))
	case t.text == "attr" && c.last.kind == punct && c.last.text == "(" && indirectFilters[c.before.text]:
		c.report(t, CodeAttr, "the filter attr is applied through %s", c.before.text)
	case strings.Contains(t.text, "%c"), isPiece(t) && c.last.kind == punct && joinOperators[c.last.text]:
		c.report(t, CodeComputed, "the string %s is a piece of a name", wire.Quote(t.text))
	case isPiece(t) && c.piece.kind != text:
		c.piece = t
		c.joinedInTag()
	}
}

// leadsInside reports whether a string names an unsafe attribute: as a subscript it finds the
// attribute, and filters take a path of attributes.
func leadsInside(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if unsafeAttributes[part] && part != "format" && part != "format_map" {
			return true
		}
	}
	return false
}

// joinedInTag reports a piece of a name and an operation that joins pieces, in one tag in any
// order.
func (c *checker) joinedInTag() {
	if c.joins && c.piece.kind == text {
		c.report(c.piece, CodeComputed, "the string %s is a piece of a name", wire.Quote(c.piece.text))
	}
}

// checkJoin checks an operator after a piece of a name, or in a subscript.
func (c *checker) checkJoin(t token) {
	if t.text == "%" && c.last.kind == text {
		c.joins = true
		c.joinedInTag()
	}
	switch {
	case joinOperators[t.text] && isPiece(c.last):
		c.report(c.last, CodeComputed, "the string %s is a piece of a name", wire.Quote(c.last.text))
	case (t.text == "~" || t.text == "|") && len(c.brackets) > 0 && c.brackets[len(c.brackets)-1].subscript:
		c.report(t, CodeComputed, "a subscript is put together from pieces")
	}
}

// joinOperators are the operators that combine strings or change them.
var joinOperators = map[string]bool{"~": true, "+": true, "*": true, "%": true, "|": true}

// isPiece reports whether a string may be a piece of an internal name.
func isPiece(t token) bool {
	return t.kind == text && (strings.HasPrefix(t.text, "_") || strings.HasSuffix(t.text, "_"))
}

// indirectFilters are filters that apply another filter, given by name.
var indirectFilters = map[string]bool{"map": true, "select": true, "reject": true, "selectattr": true, "rejectattr": true}

func (c *checker) name(t token) {
	if (c.afterDot() || c.afterPipe()) && (paddingMethods[t.text] || c.before.kind == text && formatMethods[t.text]) {
		c.joins = true
		c.joinedInTag()
	}
	switch {
	case !isASCII(t.text):
		c.report(t, CodeComputed, "the name %s has a letter outside ASCII, which Python may take as another", wire.Quote(t.text))
	case c.last.kind == open && loadStatements[t.text]:
		c.report(t, CodeImport, "the statement %s loads another template", t.text)
	case (c.afterPipe() || c.last.text == "filter" && c.before.kind == open) && t.text == "attr":
		c.report(t, CodeAttr, "the filter attr looks an attribute up by name")
	case strings.Contains(t.text, "__"), c.afterDot() && strings.HasPrefix(t.text, "_"):
		c.report(t, CodeDunder, "%s names an internal attribute", wire.Quote(t.text))
	case c.afterDot():
		if unsafeAttributes[t.text] && !(t.text == "format" && c.before.kind == text && plainFields(c.before.text)) {
			c.report(t, CodeDunder, "the attribute %s leads into the interpreter", t.text)
		}
	case globals[t.text]:
		c.report(t, CodeGlobal, "%s leads into the interpreter", t.text)
	case c.redefinesKeyword(t.text):
		c.report(t, CodeCall, "%s gets another meaning", wire.Quote(t.text))
	}
}

// plainFields reports whether no field of a format string accesses an attribute or an element.
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

// paddingMethods are methods and filters that put a piece between or around others.
var paddingMethods = map[string]bool{"join": true, "center": true, "ljust": true, "rjust": true}

// formatMethods insert pieces into the string literal before them. On variables they are
// common: many templates replace the dashes of a name.
var formatMethods = map[string]bool{"format": true, "replace": true}

// loadStatements are the statements that load another template.
var loadStatements = map[string]bool{"import": true, "from": true, "include": true, "extends": true}

// globals are names of Jinja from which known escapes start, and those of web frameworks whose
// templates have been attacked.
var globals = map[string]bool{
	"lipsum": true, "cycler": true, "joiner": true, "self": true, "config": true, "request": true,
	"url_for": true, "get_flashed_messages": true, "builtins": true, "eval": true, "exec": true, "open": true,
	"getattr": true, "setattr": true, "globals": true, "locals": true, "vars": true, "compile": true, "environment": true,
}

// unsafeAttributes are attributes without underscores that lead into the interpreter: those
// that Jinja's own sandbox rejects, and str.format, which evaluates attributes in braces.
var unsafeAttributes = map[string]bool{
	"mro": true, "func_globals": true, "func_code": true, "func_closure": true, "func_defaults": true,
	"gi_frame": true, "gi_code": true, "gi_yieldfrom": true, "cr_frame": true, "cr_code": true, "cr_await": true, "cr_origin": true,
	"ag_frame": true, "ag_code": true, "ag_await": true, "f_globals": true, "f_locals": true, "f_builtins": true, "f_back": true,
	"f_code": true, "tb_frame": true, "tb_next": true, "co_code": true, "im_class": true, "im_func": true, "im_self": true,
	"format": true, "format_map": true,
}

// methods are the methods of strings, lists and dictionaries that change nothing outside the
// template, and those of the loop variable.
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
