package jinja

// visit goes over a statement.
func (j *judge) visit(i int32) {
	if !j.step() {
		return
	}
	n := j.nodes[i]
	switch n.form {
	case named: // a function of its own
		j.outside(func() { j.each(n.first, j.visit) })
	case body:
		j.each(n.first, j.visit)
	case output:
		j.tag(func() { j.each(n.first, j.printed) })
	case loopOver:
		j.loop(n)
	case branches:
		j.branches(n)
	case assign:
		j.tag(func() { j.assign(n.first, j.eval(j.nodes[n.first].next)) })
	case capture:
		j.capture(n)
	case macro:
		j.macro(n)
	case callBlock:
		j.each(n.first, func(i int32) { // the call is outside of the parameters' scope
			if f := j.nodes[i].form; f != parameter && f != body {
				j.tag(func() { j.eval(i) })
			}
		})
		j.function(n.first)
	case scope:
		j.scoped(n.first)
	case with:
		j.with(n)
	case filtered, escaped:
		j.tag(func() { j.eval(n.first) })
		j.scoped(j.nodes[n.first].next)
	}
}

// macro judges a definition.
func (j *judge) macro(n node) {
	j.give(&j.vars, n.text, plain(macros))
	j.spelling(&n)
	if functions.has(n.text) || scopeNames[n.text] {
		j.redefines(&n)
	}
	j.function(n.first)
	j.define(n.text)
}

// printed is an operand of a tag that prints. A string literal there is text.
func (j *judge) printed(i int32) {
	if n := &j.nodes[i]; n.form == literal && !n.flag {
		return
	}
	j.eval(i)
}

// with gives names values, none of which sees the other names.
func (j *judge) with(n node) {
	mark := len(j.trail)
	j.each(n.first, func(i int32) {
		if j.nodes[i].form == assign {
			j.visit(i)
			j.leave(mark)
		}
	})
	j.each(n.first, func(i int32) {
		if j.nodes[i].form == assign {
			j.defines(j.nodes[i].first)
		} else {
			j.visit(i)
		}
	})
	j.leave(mark)
}

// defines notes that the names of a target have values.
func (j *judge) defines(to int32) {
	switch n := &j.nodes[to]; n.form {
	case variable:
		j.define(n.text)
	case group:
		j.each(n.first, j.defines)
	}
}

// capture is a variable that takes the text of a block.
func (j *judge) capture(n node) {
	through := j.nodes[n.first].next
	j.scoped(j.nodes[through].next)
	j.tag(func() {
		v := j.eval(through)
		if j.nodes[through].form == nothing {
			v = madeAt(n.off)
		}
		j.assign(n.first, v)
	})
}

// each calls do for a node and its siblings.
func (j *judge) each(first int32, do func(int32)) {
	for i := first; i != 0 && j.err == nil; i = j.nodes[i].next {
		do(i)
	}
}

// scoped visits a body whose names end with it.
func (j *judge) scoped(i int32) {
	mark := len(j.trail)
	j.visit(i)
	j.leave(mark)
}

// outside visits what sees none of the names that are defined here.
func (j *judge) outside(visit func()) {
	defined, trail := j.defined, j.trail
	j.defined, j.trail = map[string]bool{}, nil
	visit()
	j.defined, j.trail = defined, trail
}

// tag visits the expressions of a tag: a piece of a name, and what joins pieces, count in any
// order.
func (j *judge) tag(visit func()) {
	j.piece, j.joins = -1, false
	visit()
	if j.joins && j.piece >= 0 {
		j.report(j.piece, CodeComputed, "a string of this tag is a piece of a name")
	}
}

func (j *judge) loop(n node) {
	to := n.first
	over := j.nodes[to].next
	condition := j.nodes[over].next
	do := j.nodes[condition].next
	mark := len(j.trail)
	j.tag(func() {
		v := j.eval(over)
		j.askable(over, v)
		e := j.member(v)
		j.join(&j.loops, e)
		if n.flag {
			e = e.or(j.again)
		}
		j.assign(to, e)
		j.eval(condition)
	})
	j.visit(do)
	j.leave(mark)
	j.scoped(j.nodes[do].next)
}

// branches visits the branches of if. A name that all of them define is defined after them.
func (j *judge) branches(n node) {
	mark := len(j.trail)
	var common map[string]bool
	for i := n.first; i != 0 && j.err == nil; {
		do := i
		if next := j.nodes[i].next; next != 0 {
			j.tag(func() { j.eval(i) })
			do = next
		}
		j.visit(do)
		common = both(common, j.trail[mark:])
		j.leave(mark)
		if do == i { // the body of else
			for name := range common {
				j.define(name)
			}
			return
		}
		i = j.nodes[do].next
	}
}

// both keeps the names that are in both sets; of no set yet, all.
func both(common map[string]bool, names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		if common == nil || common[name] {
			out[name] = true
		}
	}
	return out
}

// function visits parameters and the body of a macro, or of a call. It is called later, when
// other names have other values.
func (j *judge) function(first int32) {
	mark := len(j.trail)
	j.each(first, func(i int32) {
		switch n := &j.nodes[i]; n.form {
		case parameter:
			j.spelling(n)
			v := j.eval(n.first)
			j.redefines(n)
			j.set(n.text, v.or(j.flood))
		case body:
			j.visit(i)
		}
	})
	j.leave(mark)
}
