package jinja

import "github.com/anamnesis-go/anamnesis/limits"

// What a template makes of pieces must not name an attribute. The check does not follow values:
// a variable is made if anything in an expression that it takes its value from makes a string,
// or is made. Order and scope do not matter.

// maxPasses bounds the passes over a template that find what is made of what is made.
const maxPasses = 16

// keepers are filters that make no string of several: they choose, order, count or compare.
var keepers = map[string]bool{
	"length": true, "count": true, "int": true, "float": true, "abs": true, "round": true, "list": true, "sort": true, "dictsort": true,
	"unique": true, "reverse": true, "first": true, "last": true, "selectattr": true, "rejectattr": true, "select": true, "reject": true,
	"items": true, "default": true, "d": true, "trim": true, "lower": true, "upper": true, "min": true, "max": true,
}

// keeperMethods are such methods, and functions.
var keeperMethods = map[string]bool{
	"range": true, "namespace": true, "dict": true, "items": true, "keys": true, "values": true, "get": true, "split": true, "rsplit": true, "splitlines": true,
	"strip": true, "lstrip": true, "rstrip": true, "lower": true, "upper": true, "startswith": true, "endswith": true, "count": true, "index": true,
	"find": true, "rfind": true, "copy": true, "append": true, "extend": true, "insert": true, "update": true, "setdefault": true, "pop": true,
	"removeprefix": true, "removesuffix": true, "partition": true, "rpartition": true, "raise_exception": true,
}

// fillers are methods that put their arguments into what they are called on.
var fillers = map[string]bool{"append": true, "extend": true, "insert": true, "update": true, "setdefault": true}

// A trail is the last tokens of a tag.
type trail struct {
	before, last token
	digits       token // the token before the digits that last ends
	depth        int
	list         int  // the depth inside a list that is added to another
	listed       bool // last ends that list
}

// is reports whether a token is an operator or a bracket.
func (t token) is(text string) bool { return t.kind == punct && t.text == text }

func isDigit(t token) bool {
	return t.kind == punct && len(t.text) == 1 && '0' <= t.text[0] && t.text[0] <= '9'
}

// number reports whether the last token ends a whole number, not the place of an element.
func (r *trail) number() bool { return isDigit(r.last) && !r.digits.is(".") }

func (r *trail) push(t token) {
	if isDigit(t) && !isDigit(r.last) {
		r.digits = r.last
	}
	r.listed = false
	switch {
	case t.kind == open, t.kind == close:
		r.depth, r.list = 0, 0
	case t.is("("), t.is("["), t.is("{"):
		if r.depth++; t.is("[") && r.last.is("+") && r.list == 0 {
			r.list = r.depth
		}
	case t.is(")"), t.is("]"), t.is("}"):
		if r.listed = r.list > 0 && r.depth <= r.list; r.listed {
			r.list = 0
		}
		r.depth = max(0, r.depth-1)
	}
	r.before, r.last = r.last, t
}

// makes reports whether a token, or one before it, makes a string, or is a variable that holds one.
func (n *names) makes(r *trail, plus *bool, t token) bool {
	// A list may be added, but no element of one.
	sum := *plus && !isDigit(t) && !(t.is("[") && r.list == 0) || r.listed && (t.is("[") || t.is(".") || t.is("|"))
	*plus = t.kind == punct && t.text == "+" && !r.number()
	switch {
	case sum, t.is("~"), t.is("*"), t.is("%"):
		return true
	case t.kind == text:
		return r.last.is("[") && (n.made[t.text] || t.masked)
	case t.kind == name && r.last.is("|"):
		return !keepers[t.text]
	case t.kind == name:
		return n.made[t.text] || t.text == "varargs" || t.text == "kwargs"
	}
	return t.is("(") && r.last.kind == name && !r.before.is("|") && !keeperMethods[r.last.text] && !operandKeywords[r.last.text] &&
		!statements[r.last.text] && !(r.before.kind == name && (r.before.text == "is" || r.before.text == "not" || r.before.text == "macro"))
}

// A feed is an open call, or an argument of a namespace, that takes the strings made in it.
type feed struct {
	text   string
	depth  int
	arg    int  // the place of the argument
	called bool // a macro is fed, else the variable is made
	apart  bool // what is made in it makes nothing around it: its arguments take it
	made   bool
}

// A flow finds what is made, in one pass.
type flow struct {
	*names

	b       *limits.Budget // of the names, and of the lists of the pass
	lists   *limits.Budget
	trail   trail
	plus    bool
	word    string // the statement of the tag
	macro   string
	targets []string
	feeds   []feed
	root    string  // the last name that is no attribute and in no subscript
	made    bool    // something in the tag makes a string
	pending pending // the last token holds a made string, unless the next ones say otherwise
	numbers int     // the depth of the arguments of range, from which no string comes
	valued  bool    // the targets of the statement are over
	closed  bool    // the rest of the tag is a condition
	depth   int
	square  int
	grew    bool
}

// findMade finds the variables that are made of pieces.
func (n *names) findMade(b *limits.Budget, template string) error {
	n.tangled = true
	steps := b.Steps()
	f := flow{names: n, b: b, lists: b.Probe()}
	defer f.lists.Close()
	for range maxPasses {
		f.grew = false
		for l := (lexer{src: template, blind: true}); ; {
			if err := steps.Step(); err != nil {
				return err
			}
			t := l.next()
			if t.kind == end {
				break
			}
			if err := f.token(t); err != nil {
				return err
			}
			f.trail.push(t)
		}
		if !f.grew {
			n.tangled = false
			return nil
		}
	}
	return nil
}

func (f *flow) token(t token) error {
	if t.kind == open || t.kind == close || t.kind == bad {
		f.settle(t)
		err := f.finish()
		f.word, f.macro, f.targets, f.root, f.plus = "", "", f.targets[:0], "", false
		f.feeds = f.feeds[:0]
		f.made, f.valued, f.closed, f.depth, f.square, f.numbers, f.pending = false, false, false, 0, 0, 0, none
		return err
	}
	if f.word == "" && f.trail.last.kind == open {
		f.word = t.text
		return nil
	}
	f.closed = f.closed || f.word == "for" && f.valued && f.depth == 0 && t.kind == name && t.text == "if"
	if f.closed {
		return nil
	}
	return f.inside(t)
}

// inside takes a token of a tag.
func (f *flow) inside(t token) error {
	f.settle(t)
	if err := f.nest(t); err != nil {
		return err
	}
	if err := f.argument(t); err != nil {
		return err
	}
	made := f.makes(&f.trail, &f.plus, t)
	if made && t.is("(") { // what a call makes is not what it takes
		f.makesHere()
		made = false
	}
	taken, err := f.target(t)
	switch {
	case f.numbers > 0:
		if f.depth < f.numbers {
			f.numbers = 0
		}
	case taken || !made:
		if t.is("(") && f.trail.last.kind == name && f.trail.last.text == "range" && !f.trail.before.is(".") && !f.trail.before.is("|") {
			f.numbers = f.depth
		}
	case t.kind == name && !f.trail.last.is("|"):
		f.pending = held
	default:
		f.makesHere()
	}
	return err
}

// A pending is what is not known yet of a variable that is made.
type pending uint8

const (
	none pending = iota
	held
	piped // a filter follows
)

// settle decides whether a variable that is made is used: the name of an argument is not, nor
// is a length.
func (f *flow) settle(t token) {
	switch {
	case f.pending == none:
	case f.pending == held && t.is("|"):
		f.pending = piped
	case f.pending == held && t.is("="), f.pending == piped && (t.text == "length" || t.text == "count" || t.text == "int"):
		f.pending = none
	default:
		f.pending = none
		f.makesHere()
	}
}

// makesHere notes that a string is made at this place.
func (f *flow) makesHere() {
	for i := len(f.feeds) - 1; i >= 0; i-- {
		if f.feeds[i].apart {
			return
		}
		if f.feeds[i].made {
			break
		}
		f.feeds[i].made = true
	}
	f.made = true
}

// nest follows the brackets, and ends what is fed in them.
func (f *flow) nest(t token) error {
	for ends := t.is(")") || t.is("]") || t.is("}"); len(f.feeds) > 0 && (ends || t.is(",")); {
		last := f.feeds[len(f.feeds)-1]
		if last.depth < f.depth || !ends && !(last.depth == f.depth && len(f.feeds) > 1 && f.feeds[len(f.feeds)-2].apart && f.feeds[len(f.feeds)-2].depth == f.depth) {
			break
		}
		f.feeds = f.feeds[:len(f.feeds)-1]
		if last.made {
			if err := f.mark(last); err != nil {
				return err
			}
		}
	}
	switch {
	case t.is("["):
		f.square++
		f.depth++
	case t.is("("), t.is("{"):
		f.depth++
	case t.is("]"):
		f.square = max(0, f.square-1)
		f.depth = max(0, f.depth-1)
	case t.is(")"), t.is("}"):
		f.depth = max(0, f.depth-1)
	}
	return nil
}

// target keeps what takes a value in the tag, and reports whether the token only names it.
func (f *flow) target(t token) (bool, error) {
	last, before := f.trail.last, f.trail.before
	attribute := last.is(".")
	switch {
	case t.is("(") && last.kind == name && before.is(".") && fillers[last.text]:
		return false, f.feed(feed{text: f.root})
	case t.is("(") && last.kind == name && f.word != "macro" && (f.macros[last.text] || last.text == "caller" || last.text == "loop"):
		return false, f.feed(feed{text: last.text, called: true})
	case t.is("(") && last.kind == name && last.text == "namespace" && !before.is("."):
		return false, f.feed(feed{apart: true})
	case t.is("=") && last.kind == name && len(f.feeds) > 0 && f.feeds[len(f.feeds)-1].apart:
		return true, f.feed(feed{text: last.text})
	case t.is("=") && last.kind == name && f.depth == 0:
		f.valued = true
		return true, f.take(last.text)
	case f.word == "for" && f.depth == 0 && t.kind == name && t.text == "in":
		f.valued = true
		return true, nil
	case f.word == "macro" && f.macro == "":
		f.macro = t.text
		return true, nil
	case f.word == "call" && f.trail.last.kind == name && f.trail.last.text == "call" && !t.is("("):
		f.valued = true // it has no parameters
	case t.is(")") && f.word == "call" && f.depth == 0:
		f.valued = true
	}
	if t.kind == name && f.square == 0 && !(attribute && (fillers[t.text] || before.kind != name)) {
		f.root = t.text
	}
	return f.head(t)
}

// head keeps a name before the values of a statement.
func (f *flow) head(t token) (bool, error) {
	last := f.trail.last
	heads := f.word == "set" || f.word == "for" || f.word == "macro" || f.word == "call"
	if !heads || f.valued || t.kind != name || last.is("=") || last.is("|") {
		return heads && !f.valued && t.is("("), nil
	}
	if f.word == "macro" && !(f.depth == 1 && (last.is("(") || last.is(","))) {
		return false, nil
	}
	if last.is(".") && len(f.targets) > 0 { // the attribute takes it, not what has it
		f.targets = f.targets[:len(f.targets)-1]
	}
	return true, f.take(t.text)
}

func (f *flow) take(t string) (err error) {
	f.targets, err = limits.Append(f.lists, f.targets, t)
	return err
}

// finish judges the targets of a tag. A block that sets a variable makes its text.
func (f *flow) finish() error {
	if !f.made && !(f.word == "set" && !f.valued) && !(f.word == "for" && f.fed["loop"] != 0) && !(f.word == "call" && f.fed["caller"] != 0) && !(f.word == "macro" && f.fed[f.macro] != 0) {
		return nil
	}
	for i, t := range f.targets {
		if f.word == "macro" && !f.made && f.fed[f.macro]&(1<<min(i, allArgs)|1<<allArgs) == 0 {
			continue
		}
		if err := f.mark(feed{text: t}); err != nil {
			return err
		}
	}
	return nil
}

// allArgs is the bit of arguments whose place is not known, or is beyond the others.
const allArgs = 63

// mark notes that a variable is made, or a macro fed.
func (f *flow) mark(what feed) error {
	if !what.called {
		if f.names.made[what.text] || what.text == "" {
			return nil
		}
		f.grew = true
		return f.add(f.b, f.names.made, what.text)
	}
	before, known := f.fed[what.text]
	if !known {
		if err := f.b.Hold(nameCost); err != nil {
			return err
		}
		f.held += nameCost
	}
	f.fed[what.text] = before | 1<<min(what.arg, allArgs)
	f.grew = f.grew || f.fed[what.text] != before
	return nil
}

// argument follows the arguments of the innermost call of a macro.
func (f *flow) argument(t token) error {
	n := len(f.feeds) - 1
	if n < 0 || !f.feeds[n].called || f.feeds[n].depth != f.depth {
		return nil
	}
	c := &f.feeds[n]
	switch {
	case t.is("=") && f.trail.last.kind == name, t.is("*") && (f.trail.last.is("(") || f.trail.last.is(",")):
		c.arg = allArgs
	case t.is(","):
		if c.made {
			if err := f.mark(*c); err != nil {
				return err
			}
		}
		c.made = false
		c.arg = min(c.arg+1, allArgs)
	}
	return nil
}

func (f *flow) feed(what feed) (err error) {
	what.depth = f.depth
	f.feeds, err = limits.Append(f.lists, f.feeds, what)
	return err
}
