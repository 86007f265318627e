package jinja

import "github.com/anamnesis-go/anamnesis/limits"

// A judge finds what each name of a template may be, in passes over its tree, until none finds
// more. Then it goes over the tree once more and reports.
type judge struct {
	src   string
	nodes []node
	b     *limits.Budget
	steps limits.Steps
	err   error

	vars    cells            // variables
	members cells            // members of namespaces
	macros  map[string]int32 // names of macros, and the number of the last definition, from 1
	defs    []definition     // of macros
	calls   []int32          // nodes of statements call, whose parameters caller fills
	keys    map[string]bool  // methods that are also members of dictionaries or of namespaces
	called  map[string]bool  // functions that are called

	heapOwn, heapSupplied kinds // what lists and dictionaries are given later
	spaces                kinds // what members of namespaces may be
	flood                 value // what calls give of which there are too many definitions to bind each
	loops, again          value // elements of loops; what a loop calls itself with

	defined map[string]bool // names that surely have a value of the template's, here
	trail   []string        // the order in which they got it

	stack []argument // of the calls that are being judged

	judging bool
	grew    bool
	issues  []Issue

	piece int32 // the first piece of a name in this tag, or -1
	joins bool  // something in this tag joins pieces
}

// A definition is one of a macro.
type definition struct{ node, before, number int32 }

// nameCost is the memory of a name in a map; its text is part of the template, or was charged
// with it.
const nameCost = 128

func (j *judge) judge(root int32) error {
	j.vars.index, j.members.index = map[string]int32{}, map[string]int32{}
	j.macros, j.keys, j.called, j.defined = map[string]int32{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	j.loops, j.again, j.flood = plain(0), plain(0), plain(0)
	for i := range j.nodes {
		j.collect(int32(i))
	}
	for range maxPasses {
		j.grew = false
		if j.pass(root); j.err != nil || !j.grew {
			break
		}
	}
	j.judging = true
	if j.grew {
		j.report(0, CodeComputed, "what may be what takes more than %d passes", maxPasses)
	}
	j.pass(root)
	return j.err
}

// pass goes over the tree, and forgets at its end what is defined there: at the beginning of a
// template no name has a value of its own.
func (j *judge) pass(root int32) {
	j.visit(root)
	j.leave(0)
}

// step pays for a node in a pass. Behind an error there are no more nodes.
func (j *judge) step() bool {
	if j.err == nil {
		j.err = j.steps.Step()
	}
	return j.err == nil
}

// collect notes how a node uses names, before anything is judged: a macro may be called before
// it is defined.
func (j *judge) collect(i int32) {
	if !j.step() {
		return
	}
	switch n := &j.nodes[i]; n.form {
	case macro:
		j.defineMacro(n.text, i)
	case callBlock:
		j.calls = j.append(j.calls, i)
	case target:
		j.key(n.text)
	case pair:
		if k := j.nodes[n.first]; k.form == literal && !dictMethods[k.text] {
			j.key(k.text)
		}
	case call:
		if f := j.nodes[n.first]; f.form == variable && j.err == nil {
			j.err = j.add(j.called, f.text)
		}
		for a := j.nodes[n.first].next; a != 0; a = j.nodes[a].next {
			if k := &j.nodes[a]; k.form == keyword && (!dictMethods[k.text] || j.nodes[n.first].text == "namespace") {
				j.key(k.text)
			}
		}
	}
}

func (j *judge) defineMacro(name string, i int32) {
	if j.err != nil {
		return
	}
	if j.err = j.b.Hold(nameCost); j.err != nil {
		return
	}
	before, number := j.macros[name], int32(1)
	if before > 0 {
		number += j.defs[before-1].number
	}
	if j.defs, j.err = limits.Append(j.b, j.defs, definition{i, before, number}); j.err == nil {
		j.macros[name] = int32(len(j.defs))
	}
}

func (j *judge) append(to []int32, i int32) []int32 {
	if j.err == nil {
		to, j.err = limits.Append(j.b, to, i)
	}
	return to
}

// key notes the name of a member that is also the name of a method.
func (j *judge) key(name string) {
	if methods.has(name) && j.err == nil {
		j.err = j.add(j.keys, name)
	}
}

func (j *judge) add(to map[string]bool, text string) error {
	if to[text] {
		return nil
	}
	if err := j.b.Hold(nameCost); err != nil {
		return err
	}
	to[text] = true
	return nil
}

// give joins a value to that of a name.
func (j *judge) give(to *cells, name string, v value) {
	i, ok := to.index[name]
	if !ok {
		if j.err != nil {
			return
		}
		if j.err = j.b.Hold(nameCost); j.err != nil {
			return
		}
		i = int32(len(to.of))
		to.index[name] = i
		if to.of, j.err = limits.Append(j.b, to.of, plain(0)); j.err != nil {
			return
		}
		j.grew = true
	}
	j.join(&to.of[i], v)
}

func (j *judge) join(to *value, v value) {
	if joined := to.or(v); joined.self != to.self || joined.deep != to.deep {
		to.self, to.deep, j.grew = joined.self, joined.deep, true
	}
}

// giveMember gives a value to the members of a name.
func (j *judge) giveMember(name string, v value) {
	j.give(&j.members, name, v)
	if in := j.spaces | v.whole(); in != j.spaces {
		j.spaces, j.grew = in, true
	}
}

// set gives a variable a value, here and behind this place.
func (j *judge) set(name string, v value) {
	j.give(&j.vars, name, v)
	j.define(name)
}

func (j *judge) define(name string) {
	if j.defined[name] || j.err != nil {
		return
	}
	if j.trail, j.err = limits.Append(j.b, j.trail, name); j.err == nil {
		j.defined[name] = true
	}
}

// leave forgets what was defined since the trail had this length.
func (j *judge) leave(length int) {
	for _, name := range j.trail[length:] {
		delete(j.defined, name)
	}
	j.trail = j.trail[:length]
}

// assign gives a value to a target, or to the targets of a tuple its elements.
func (j *judge) assign(to int32, v value) {
	switch n := &j.nodes[to]; n.form {
	case variable:
		j.spelling(n)
		j.redefines(n)
		j.set(n.text, v)
	case target:
		j.spelling(n)
		j.giveMember(n.text, v)
	case group:
		for i := n.first; i != 0; i = j.nodes[i].next {
			j.assign(i, j.member(v))
		}
	}
}

// operandWords are words that Jinja takes as variables in the place of an operand.
var operandWords = map[string]bool{"if": true, "else": true, "and": true, "or": true, "not": true, "in": true, "is": true}

// scopeNames are names to which Jinja itself gives values, in loops, macros and blocks, whatever
// they are outside.
var scopeNames = map[string]bool{"caller": true, "varargs": true, "kwargs": true, "loop": true, "self": true, "super": true}

// redefines reports a function that the template calls and gives another meaning: whatever it
// is given, the name is not only that of the function.
func (j *judge) redefines(n *node) {
	if scopeNames[n.text] {
		j.report(n.off, CodeCall, "%s is a name that Jinja gives a value itself", n.text)
	}
	function := (functions.has(n.text) || grammarFunctions[n.text] || j.macros[n.text] > 0) && j.called[n.text]
	if operandWords[n.text] || function {
		j.report(n.off, CodeCall, "%s gets another meaning", quote(n.text))
	}
}
