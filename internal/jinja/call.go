package jinja

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A template may call the functions that it is given, its own macros, and known methods.
// Anything else that is called was computed, which is how a template gets from a subscript to
// the interpreter without naming an attribute. No template may redefine a known name.

// call is what a call returns.
func (j *judge) call(n *node) value {
	f := &j.nodes[n.first]
	switch {
	case f.form == variable && !f.flag:
		return j.callName(n, f)
	case f.form == attribute && !f.flag:
		return j.method(n, f)
	}
	v := j.eval(n.first)
	j.report(n.off, CodeCall, "the result of an expression is called")
	return j.joining(j.everything(v) | j.inside(f.next)).marked(n.off)
}

// callName is what a function or a macro returns that is called by its name.
func (j *judge) callName(n, f *node) value {
	v, known := j.vars.get(f.text)
	switch {
	case !j.spelling(f), operandWords[f.text]: // reported already
	case globals[f.text] && !j.defined[f.text]:
		j.report(f.off, CodeGlobal, "%s leads into the interpreter", f.text)
	case functions.has(f.text) || grammarFunctions[f.text]:
		if known && !functions.has(f.text) { // else it was reported where it got its other meaning
			j.report(f.off, CodeCall, "%s is called, and has another meaning", f.text)
		}
	case j.macros[f.text] == 0:
		j.report(f.off, CodeCall, "%s is called, and is not a function that templates are given", quote(f.text))
	case !v.only(macros):
		j.report(f.off, CodeCall, "%s is called, and may be something else than a macro", quote(f.text))
	}
	switch {
	case j.macros[f.text] > 0:
		j.bind(f.next, int(j.defs[j.macros[f.text]-1].number), j.definitions(f.text))
		return madeAt(n.off)
	}
	return j.supply(n, f)
}

// supply is what a function returns that a template is given.
func (j *judge) supply(n, f *node) value {
	switch f.text {
	case "range":
		j.inside(f.next)
		return value{lazy, numbers, -1}
	case "dict", "namespace":
		return j.membersOf(f)
	case "raise_exception":
		j.inside(f.next)
		return plain(numbers)
	case "strftime_now":
		a := f.next
		v := j.eval(a)
		if v.only(words) && j.nodes[a].next == 0 {
			return plain(given)
		}
		j.inside(j.nodes[a].next)
	case "caller":
		j.bind(f.next, len(j.calls), j.callers)
	case "loop":
		j.each(f.next, func(i int32) {
			v := j.eval(i)
			j.askable(i, v)
			j.join(&j.again, j.member(v))
		})
	default:
		j.inside(f.next)
	}
	return madeAt(n.off)
}

// membersOf is a dictionary or a namespace. Its members are written in the template.
func (j *judge) membersOf(f *node) value {
	deep := parts
	j.each(f.next, func(i int32) {
		a := &j.nodes[i]
		v := j.eval(i)
		switch {
		case a.form != keyword:
			j.report(a.off, CodeComputed, "a %s takes its members from a value", f.text)
		case strings.HasPrefix(a.text, "_"):
			j.report(a.off, CodeComputed, "%s is a piece of a name", quote(a.text))
		case f.text == "namespace":
			j.giveMember(a.text, v)
		}
		deep |= j.everything(v)
	})
	if f.text == "namespace" {
		return plain(space)
	}
	return holding(deep)
}

// maxBound is how many definitions of one name a call gives its arguments to one by one. If there
// are more, which no template has, all parameters of the template may be any of them.
const maxBound = 64

// An argument of a call that is judged.
type argument struct {
	form form
	name string
	v    value
}

// bind judges those of a call, and gives them to a macro, if it is one: by place, by
// name, or, from a value, to all parameters.
func (j *judge) bind(args int32, number int, defs func(yield func(first int32))) {
	base := len(j.stack)
	whole := j.given(args)
	given := j.stack[base:]
	if number > maxBound {
		j.join(&j.flood, all(whole))
		defs = func(func(int32)) {}
	}
	defs(func(first int32) {
		place := first
		for _, a := range given {
			if !j.step() {
				break
			}
			switch a.form {
			case keyword, star, starStar:
				for p := first; j.isParameter(p) && j.step(); p = j.nodes[p].next {
					if a.form != keyword || j.nodes[p].text == a.name {
						j.give(&j.vars, j.nodes[p].text, a.v)
					}
				}
			default:
				if j.isParameter(place) {
					j.give(&j.vars, j.nodes[place].text, a.v)
					place = j.nodes[place].next
				}
			}
		}
	})
	j.stack = j.stack[:base]
}

// given puts the arguments of a call on the stack, and returns what they are together.
func (j *judge) given(args int32) (whole kinds) {
	j.each(args, func(i int32) {
		a := argument{j.nodes[i].form, j.nodes[i].text, j.eval(i)}
		whole |= j.everything(a.v)
		switch {
		case a.form == starStar:
			j.report(j.nodes[i].off, CodeCall, "a macro takes arguments by names that a value has")
		case a.form == keyword && a.name == "caller":
			j.report(j.nodes[i].off, CodeCall, "a macro is given another caller")
		}
		if a.form == star || a.form == starStar {
			a.v = j.member(a.v)
		}
		if j.err == nil {
			j.stack, j.err = limits.Append(j.b, j.stack, a)
		}
	})
	return whole
}

func (j *judge) isParameter(i int32) bool { return i != 0 && j.nodes[i].form == parameter }

// definitions yields the parameters of the macros of a name.
func (j *judge) definitions(name string) func(func(int32)) {
	return func(yield func(int32)) {
		for d := j.macros[name]; d != 0 && j.step(); d = j.defs[d-1].before {
			yield(j.nodes[j.defs[d-1].node].first)
		}
	}
}

// callers yields the parameters of what caller may be.
func (j *judge) callers(yield func(int32)) {
	for _, c := range j.calls {
		if j.step() {
			yield(j.nodes[c].first)
		}
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

// joiners are methods and filters that put a piece between or around others.
var joiners = map[string]bool{"join": true, "center": true, "ljust": true, "rjust": true}

// method is what a method returns. It is called on data, or on the loop.
func (j *judge) method(n, f *node) value {
	of := f.first
	v := plain(0)
	if !j.isLoop(of) {
		v = j.eval(of)
	}
	onText := j.nodes[of].form == literal
	if joiners[f.text] || onText && (f.text == "format" || f.text == "replace") {
		j.joins = true
	}
	switch {
	case !j.spelling(f):
	case strings.HasPrefix(f.text, "_"):
		j.report(f.off, CodeDunder, "%s names an internal attribute", quote(f.text))
	case unsafeAttributes[f.text], f.text == "format_map", f.text == "format" && !(onText && plainFields(j.nodes[of].text)):
		j.report(f.off, CodeDunder, "the attribute %s leads into the interpreter", f.text)
	case f.text == "format":
	case j.isLoop(of) && (f.text == "cycle" || f.text == "changed"):
		deep := j.inside(f.next)
		return all(deep | numbers)
	case !methods.has(f.text):
		j.report(f.off, CodeMethod, "the method %s is not one that templates need", quote(f.text))
	case j.keys[f.text]:
		j.report(f.off, CodeCall, "%s is called, and the template gives that name a value", quote(f.text))
	case !dictMethods[f.text] && j.contents(v)&calls != 0:
		j.report(f.off, CodeCall, "%s is called on what holds more than data", quote(f.text))
	case j.isLoop(of):
		j.report(f.off, CodeGlobal, "loop has no method %s", quote(f.text))
	default:
		j.askable(of, v)
	}
	return j.returned(n, f, v)
}

// A returns says what a method or a filter makes of what it is applied to.
type returns uint8

const (
	joins     returns = iota // anything that went in: nothing more is known
	writes                   // a string that the template makes of what is printed
	counts                   // a number
	keeps                    // what it is applied to
	picks                    // an element
	sequence                 // its elements, in a list
	rows                     // lists or tuples of its elements, in a list
	views                    // its members as tuples, or their keys or values, one by one
	converts                 // a number, or an argument
	backwards                // its elements, or a string
	shortens                 // a part of a string
	splits                   // parts of a string, in a list
	fills                    // nothing: it puts its arguments into a list or a dictionary
	parses                   // data from a string
	applies                  // map: what another filter makes of each element
)

var methodReturns = map[string]returns{
	"startswith": counts, "endswith": counts, "count": counts, "index": counts, "find": counts, "rfind": counts, "rindex": counts, "remove": counts, "reverse": counts, "clear": counts,
	"isdigit": counts, "isalpha": counts, "isalnum": counts, "isspace": counts, "isupper": counts, "islower": counts, "isnumeric": counts, "isdecimal": counts,
	"isidentifier": counts, "isascii": counts, "isprintable": counts, "istitle": counts,
	"copy": keeps, "get": picks, "pop": picks, "setdefault": picks, "popitem": sequence, "items": views, "keys": views, "values": views,
	"strip": shortens, "lstrip": shortens, "rstrip": shortens, "lower": shortens, "upper": shortens, "casefold": shortens, "swapcase": shortens,
	"capitalize": shortens, "title": shortens, "removeprefix": shortens, "removesuffix": shortens,
	"split": splits, "rsplit": splits, "splitlines": splits, "partition": splits, "rpartition": splits,
	"center": writes, "expandtabs": writes, "format": writes, "join": writes, "ljust": writes, "replace": writes, "rjust": writes, "zfill": writes,
	"append": fills, "extend": fills, "insert": fills, "update": fills,
}

// dictMethods are methods of dictionaries, which a member of the same name does not hide. Other
// data that have none of that name have no member of it.
var dictMethods = map[string]bool{
	"clear": true, "copy": true, "get": true, "items": true, "keys": true, "pop": true, "popitem": true, "setdefault": true, "update": true, "values": true,
}

func (j *judge) returned(n, f *node, v value) value {
	args := j.inside(f.next)
	for a := f.next; a != 0; a = j.nodes[a].next {
		if k := &j.nodes[a]; k.form == keyword { // of update, it is a key
			w := j.literal(k)
			args |= w.self
		}
	}
	if methodReturns[f.text] == fills || f.text == "setdefault" {
		j.put(v, args)
	}
	switch methodReturns[f.text] {
	case counts, fills:
		return plain(numbers)
	case keeps:
		return v
	case picks:
		return all(j.contents(v) | args | numbers).marked(n.off)
	case sequence:
		return holding(j.contents(v) | numbers).marked(n.off)
	case views:
		return value{lazy | own, j.contents(v) | tuples | numbers, -1}.marked(n.off)
	case writes:
		return madeAt(n.off)
	case shortens:
		return part(v, n.off)
	case splits:
		return holding(part(v, n.off).self).marked(n.off)
	}
	return j.joining(j.everything(v) | args | made).marked(n.off)
}

// put notes what a list or a dictionary is given later. It may have other names.
func (j *judge) put(v value, what kinds) {
	if v.has(supplied | reached) {
		j.grew = j.grew || j.heapSupplied|what != j.heapSupplied
		j.heapSupplied |= what
	}
	if v.has(own) {
		j.grew = j.grew || j.heapOwn|what != j.heapOwn
		j.heapOwn |= what
	}
}

// marked says where a string is made, if one is.
func (v value) marked(off int32) value {
	if v.whole()&made != 0 && v.at < 0 {
		v.at = off
	}
	return v
}
