package jinja

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func quote(s string) string { return wire.Quote(s) }

// eval returns what an expression may be.
func (j *judge) eval(i int32) value {
	if !j.step() {
		return plain(0)
	}
	n := &j.nodes[i]
	switch n.form {
	case literal:
		return j.literal(n)
	case variable:
		return j.variable(n)
	case attribute:
		return j.attribute(n)
	case subscript:
		return j.subscript(n)
	case call:
		return j.call(n)
	case filter:
		return j.filter(n)
	case test:
		return j.test(n)
	case group, list, dictionary, pair, keyword, star, starStar:
		return j.display(n)
	case conditional:
		j.eval(n.first)
		v := j.eval(j.nodes[n.first].next)
		return v.or(j.eval(j.nodes[j.nodes[n.first].next].next))
	case either:
		v := j.eval(n.first)
		return v.or(j.eval(j.nodes[n.first].next))
	case sum, product, modulo, concat:
		return j.combined(n)
	case arithmetic, sign:
		return j.calculated(n)
	}
	j.inside(n.first) // what is a number, or nothing
	return plain(numbers)
}

// display evaluates a list, a dictionary, or the elements of one or of a call.
func (j *judge) display(n *node) value {
	switch n.form {
	case pair:
		return j.pair(n)
	case keyword:
		j.spelling(n)
		return j.eval(n.first)
	case star, starStar:
		return j.eval(n.first)
	}
	return holding(j.inside(n.first))
}

// inside is all that is in the operands of a display, or in arguments.
func (j *judge) inside(first int32) (out kinds) {
	j.each(first, func(i int32) { out |= j.everything(j.eval(i)) })
	return out
}

// pair is a member of a dictionary. A key that is written in the template has been checked with the
// methods.
func (j *judge) pair(n *node) value {
	k := n.first
	if f := j.nodes[k].form; f != literal && f != numeric && f != sign {
		j.report(n.off, CodeComputed, "a key is not a string or a number of the template")
	}
	key := j.eval(k)
	return all(j.everything(key) | j.everything(j.eval(j.nodes[k].next)))
}

// literal judges a string of the template by itself.
func (j *judge) literal(n *node) value {
	s := n.text
	piece := isPiece(s)
	switch {
	case n.flag:
		j.report(n.off, CodeComputed, "a string spells a character by its name")
	case strings.Contains(s, "__"):
		j.report(n.off, CodeDunder, "the string %s names an internal attribute", quote(s))
	case leadsInside(s):
		j.report(n.off, CodeDunder, "the string %s names an attribute that leads into the interpreter", quote(s))
	case strings.Contains(s, "%c"):
		j.report(n.off, CodeComputed, "the string %s makes a character of its number", quote(s))
	}
	switch {
	case n.flag, piece:
		if piece && j.piece < 0 {
			j.piece = n.off
		}
		return madeAt(n.off)
	case strings.Contains(s, "_"):
		return plain(parts)
	}
	return plain(words)
}

// isPiece reports whether a string may be a piece of an internal name.
func isPiece(s string) bool { return strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") }

// leadsInside reports whether a string names an unsafe attribute: as a subscript it finds the
// attribute, and filters take a path of attributes.
func leadsInside(s string) bool {
	for part := range strings.FieldsFuncSeq(s, isPathMark) {
		if unsafeAttributes[part] {
			return true
		}
	}
	return false
}

// joined reports a string of the template that an operation joins or changes, if it is a piece.
func (j *judge) joined(i int32) {
	if n := &j.nodes[i]; n.form == literal && isPiece(n.text) {
		j.report(n.off, CodeComputed, "the string %s is a piece of a name", quote(n.text))
	}
}

// spelling reports what a name may not be. Python folds letters outside ASCII into others.
func (j *judge) spelling(n *node) bool {
	switch {
	case strings.IndexFunc(n.text, func(r rune) bool { return r >= 0x80 }) >= 0:
		j.report(n.off, CodeComputed, "the name %s has a letter outside ASCII, which Python may take as another", quote(n.text))
	case strings.Contains(n.text, "__"):
		j.report(n.off, CodeDunder, "%s names an internal attribute", quote(n.text))
	default:
		return true
	}
	return false
}

// grammarFunctions are functions that the grammar gives a template.
var grammarFunctions = map[string]bool{"caller": true, "loop": true, "super": true}

// variable is what a name may be. One that the template does not surely give a value to may
// come from outside: data, or something of Jinja's.
func (j *judge) variable(n *node) value {
	j.spelling(n)
	v, _ := j.vars.get(n.text)
	if !j.defined[n.text] {
		switch {
		case globals[n.text]:
			j.report(n.off, CodeGlobal, "%s leads into the interpreter", n.text)
		case functions.has(n.text), grammarFunctions[n.text]:
			j.report(n.off, CodeGlobal, "%s is a function, and is not called", n.text)
		case n.text == "varargs", n.text == "kwargs":
			v = v.or(value{own, made | data | own | calls | space | lazy | tuples, n.off})
		case j.macros[n.text] == 0:
			v = v.or(all(data))
		}
	}
	if j.macros[n.text] > 0 {
		j.report(n.off, CodeCall, "the macro %s is not called", quote(n.text))
	}
	v.self &^= macros
	v.at = -1
	if v.has(made) || v.deep&made != 0 {
		v.at = n.off
	}
	return v
}

// attribute is an attribute of an operand, by its name.
func (j *judge) attribute(n *node) value {
	of := n.first
	v := plain(0)
	if !j.isLoop(of) {
		v = j.eval(of)
	}
	switch {
	case !j.spelling(n):
	case strings.HasPrefix(n.text, "_"):
		j.report(n.off, CodeDunder, "%s names an internal attribute", quote(n.text))
	case unsafeAttributes[n.text], n.text == "format", n.text == "format_map", n.text == "fromkeys", n.text == "maketrans": // the last two are of classes
		j.report(n.off, CodeDunder, "the attribute %s leads into the interpreter", n.text)
	case j.isLoop(of):
		return j.ofLoop(n)
	default:
		j.askable(of, v)
	}
	return j.found(v, n.text, n.off)
}

// found is what a name finds in v.
func (j *judge) found(v value, name string, off int32) value {
	out := all(j.contents(v))
	if v.has(space) {
		m, _ := j.members.get(name)
		out = out.or(m)
	}
	out.self |= numbers
	if methods.has(name) && v.has(strings_|holders) || otherMethods[name] {
		out.self |= bound
	}
	if out.at = -1; out.whole()&made != 0 {
		out.at = off
	}
	return out
}

// askable reports an operand that is not data, and is asked for something in it.
func (j *judge) askable(i int32, v value) {
	if v.has(reached) {
		j.report(j.nodes[i].off, CodeComputed, "what a computed key found is asked for something in it")
	}
}

// isLoop reports whether a node names the loop around it.
func (j *judge) isLoop(i int32) bool {
	n := &j.nodes[i]
	if n.form != variable || n.text != "loop" {
		return false
	}
	_, given := j.vars.get("loop")
	return !given
}

func (j *judge) ofLoop(n *node) value {
	switch {
	case !loopAttributes.has(n.text):
		j.report(n.off, CodeGlobal, "loop has no attribute %s that templates need", quote(n.text))
	case n.text == "previtem", n.text == "nextitem":
		return j.loops.or(j.again)
	}
	return plain(numbers)
}
