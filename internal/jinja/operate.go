package jinja

import "strings"

// combined is what an operator makes of two values, or more.
func (j *judge) combined(n *node) value {
	left := n.first
	v := j.eval(left)
	if n.form == modulo && j.nodes[left].form == literal {
		j.joins = true
	}
	for i := j.nodes[left].next; i != 0 && j.err == nil; i = j.nodes[i].next {
		w := j.eval(i)
		switch n.form {
		case concat:
			v = madeAt(n.off)
		case sum:
			v = j.added(v, w, n.off)
		case product:
			v = j.multiplied(v, w, n.off)
		case modulo:
			out := plain(numbers)
			if v.has(strings_) {
				out = out.or(madeAt(n.off))
			}
			if !v.only(plainOperands) {
				out = out.or(j.joining(j.everything(v) | j.everything(w)))
			}
			v = out
		}
	}
	j.each(left, j.joined)
	return v
}

func (j *judge) added(v, w value, off int32) value {
	out := plain(0)
	if v.has(numbers) && w.has(numbers) {
		out.self |= numbers
	}
	if v.has(strings_) && w.has(strings_) {
		out = out.or(madeAt(off))
	}
	if v.has(holders) && w.has(holders) {
		out = out.or(holding(j.contents(v) | j.contents(w)))
		if v.has(supplied) || w.has(supplied) {
			out.self |= supplied
		}
	}
	if !v.only(plainOperands|own|tuples) || !w.only(plainOperands|own|tuples) {
		out = out.or(j.joining(j.everything(v) | j.everything(w)))
	}
	return out
}

func (j *judge) multiplied(v, w value, off int32) value {
	out := plain(numbers)
	if v.has(strings_) && w.has(numbers) || w.has(strings_) && v.has(numbers) {
		out = out.or(madeAt(off))
	}
	if v.has(holders) || w.has(holders) {
		out = out.or(holding(j.contents(v) | j.contents(w)))
	}
	return out
}

// plainOperands are what Python calculates only numbers with, if at all.
const plainOperands = data | strings_&^reached

// calculated is what - / // ** make: numbers, but sets of what yields keys.
func (j *judge) calculated(n *node) value {
	in, plainly := kinds(0), true
	j.each(n.first, func(i int32) {
		v := j.eval(i)
		in |= j.everything(v)
		plainly = plainly && v.only(plainOperands)
	})
	if plainly {
		return plain(numbers)
	}
	return j.joining(in | lazy).marked(n.off)
}

// subscript is an element of an operand.
func (j *judge) subscript(n *node) value {
	of := n.first
	key := j.nodes[of].next
	k := &j.nodes[key]
	v := j.eval(of)
	if j.nodes[of].form == literal {
		j.report(n.off, CodeComputed, "a letter is taken out of a string of the template")
	}
	w := j.eval(key)
	if v.has(reached) {
		j.report(n.off, CodeComputed, "what a computed key found is asked for an element")
		return all(data)
	}
	switch {
	case k.form == slice:
		return j.sliced(v, n.off)
	case k.form == literal:
		if strings.HasPrefix(k.text, "_") {
			j.report(k.off, CodeDunder, "the key %s names an internal attribute", quote(k.text))
		}
		return j.found(v, k.text, k.off)
	case j.everything(w)&(made|calls) != 0:
		j.report(w.madeAt(k.off), CodeComputed, "a subscript is a string that the template makes")
	}
	out := j.member(v)
	if w.has(words|parts) && v.has(strings_|holders) {
		out.self |= bound
	}
	if out.at = -1; out.whole()&made != 0 {
		out.at = j.begins(of)
	}
	if w.has(given) {
		if !v.only(askedByData) {
			j.report(k.off, CodeComputed, "a string of the data is asked of what is not data")
		}
		out.self |= reached
		out.deep |= reached
	}
	return out
}

// askedByData is what a string of the data may be asked of: data, and what has nothing but what
// data have. Text that is marked as safe has attributes of Python's, as the tuples of groupby do.
const askedByData = data | words | parts | own | tuples

// begins is where an operand begins.
func (j *judge) begins(i int32) int32 {
	for {
		switch n := &j.nodes[i]; n.form {
		case attribute, subscript, call, filter, test:
			i = n.first
		default:
			return n.off
		}
	}
}

// sliced is a part of a list or of a string.
func (j *judge) sliced(v value, off int32) value {
	out := value{v.self & holders, v.deep, -1}
	if v.has(strings_) {
		p := part(v, off)
		out.self, out.at = out.self|p.self, p.at
	}
	return out
}
