package jinja

import "strings"

var filterReturns = map[string]returns{
	"length": counts, "count": counts, "int": converts, "float": converts, "abs": counts, "round": counts, "wordcount": counts,
	"capitalize": writes, "center": writes, "e": writes, "escape": writes, "filesizeformat": writes, "forceescape": writes, "format": writes, "indent": writes,
	"join": writes, "pprint": writes, "replace": writes, "safe": writes, "string": writes, "striptags": writes, "title": writes, "tojson": writes,
	"truncate": writes, "urlencode": writes, "urlize": writes, "wordwrap": writes, "xmlattr": writes,
	"lower": shortens, "trim": shortens, "upper": shortens,
	"first": picks, "last": picks, "min": picks, "max": picks, "random": picks, "sum": picks,
	"list": sequence, "sort": sequence, "unique": sequence, "reverse": backwards, "select": sequence, "reject": sequence, "selectattr": sequence, "rejectattr": sequence,
	"batch": rows, "slice": rows, "groupby": rows, "items": views, "dictsort": views,
	"from_json": parses, "fromjson": parses, "map": applies,
}

// attributePlace is the argument of a filter that names an attribute, which is also the one
// that is called attribute.
var attributePlace = map[string]int{"groupby": 0, "sum": 0, "selectattr": 0, "rejectattr": 0, "unique": 1, "min": 1, "max": 1, "join": 1, "sort": 2}

// testPlace is the argument that names a test.
var testPlace = map[string]int{"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}

// filter is what a filter makes of its operand, or of the text of a block.
func (j *judge) filter(n *node) value {
	of := n.first
	v := j.eval(of)
	if j.nodes[of].form == nothing {
		v = madeAt(n.off)
	}
	j.joined(of)
	if joiners[n.text] || j.nodes[of].form == literal && (n.text == "format" || n.text == "replace") {
		j.joins = true
	}
	return j.apply(n.text, n.off, n.off, v, j.nodes[of].next)
}

// apply judges the filter of a name at a place, and what it is given.
func (j *judge) apply(name string, at, off int32, v value, args int32) value {
	switch {
	case name == "attr":
		j.report(at, CodeAttr, "the filter attr looks an attribute up by name")
	case !filters.has(name):
		j.report(at, CodeMethod, "the filter %s is not one that templates need", quote(name))
	}
	if filterReturns[name] == applies {
		return j.mapped(off, v, args)
	}
	found, given := j.arguments(name, off, v, args)
	switch filterReturns[name] {
	case counts:
		return plain(numbers)
	case converts:
		return all(given | numbers).marked(off)
	case shortens: // other values become strings
		out := part(v, off)
		if !v.only(data | words) {
			out = out.or(madeAt(off))
		}
		return out
	case writes:
		return madeAt(off)
	case picks:
		return all(j.member(v).self | given | numbers | found).marked(off)
	case sequence, rows, views, backwards:
		return j.sequenceOf(name, v, j.member(v).self|given|numbers|found).marked(off)
	case parses:
		return all(data | made | own).marked(off)
	}
	if name == "default" || name == "d" {
		return v.or(all(given)).marked(off)
	}
	return j.joining(j.everything(v) | given | found | made).marked(off)
}

// sequenceOf is what a filter that makes a list of v returns, whose elements are in.
func (j *judge) sequenceOf(name string, v value, in kinds) value {
	switch filterReturns[name] {
	case rows: // a list of lists; the tuples of groupby have attributes of their own
		in |= own | lazy
	case views:
		in |= tuples
	}
	out := holding(in)
	out.self |= lazy
	if filterReturns[name] == backwards && v.has(strings_) {
		out.self |= v.self & (strings_ &^ (words | parts))
		if v.has(words | parts) {
			out.self |= made
		}
	}
	return out
}

// mapped is what map makes of each element: an attribute, or what another filter makes.
func (j *judge) mapped(off int32, v value, args int32) value {
	e := j.member(v)
	a := &j.nodes[args]
	switch {
	case args == 0, a.form == keyword, a.form == star, a.form == starStar:
		found, given := j.arguments("map", off, v, args)
		e = e.or(all(given | found | numbers))
	case a.form != literal:
		j.eval(args)
		j.report(a.off, CodeComputed, "the filter that map applies has a computed name")
	case a.text == "map":
		j.report(a.off, CodeMethod, "map applies itself")
	default:
		if j.eval(args); a.text == "join" {
			j.joins = true
		}
		e = j.apply(a.text, a.off, off, e, a.next)
	}
	out := holding(e.whole()).marked(off)
	out.self |= lazy
	return out
}

// arguments judges those of a filter. It returns what an attribute that is data may find, and
// what the arguments may be.
func (j *judge) arguments(name string, off int32, v value, args int32) (found, given kinds) {
	place := 0
	attributes, ok := attributePlace[name]
	if !ok {
		attributes = -1
	}
	tests, tested := testPlace[name]
	byAttribute := ok || tested || name == "map"
	j.each(args, func(i int32) {
		a := &j.nodes[i]
		w := j.eval(i)
		switch {
		case (a.form == star || a.form == starStar) && byAttribute:
			j.report(a.off, CodeComputed, "the filter %s takes its arguments from a value", name)
		case a.form == keyword && a.text == "attribute":
			found |= j.path(name, off, v, a.first, w)
			w = plain(0)
		case a.form == keyword:
		case place == attributes:
			found |= j.path(name, off, v, i, w)
			w = plain(0)
		case tested && place == tests:
			j.tests(i)
		}
		if a.form != keyword {
			place++
		}
		given |= j.everything(w)
	})
	return found, given
}

// isPathMark reports whether a letter separates attributes of a path, or paths of sort.
func isPathMark(c rune) bool { return c == '.' || c == ',' }

// path judges a path of attributes that a filter looks up in each element of v.
func (j *judge) path(name string, off int32, v value, i int32, w value) kinds {
	a := &j.nodes[i]
	e := j.member(v)
	if e.has(reached) {
		j.report(off, CodeGlobal, "the filter %s looks an attribute up in what is not data", name)
	}
	if a.form != literal {
		if in := j.everything(w); in&(made|calls) != 0 {
			j.report(w.madeAt(a.off), CodeComputed, "an attribute that the filter %s looks up is a string that the template makes", name)
		}
		if w.has(given) {
			j.report(a.off, CodeComputed, "a string of the data is a path of attributes")
			return reached | j.contents(e)
		}
		out := j.member(e).self
		if w.has(words|parts) && e.has(strings_|holders) {
			out |= bound
		}
		return out
	}
	if a.text == "attr" {
		j.report(a.off, CodeAttr, "the filter attr is applied through %s", name)
	}
	for part := range strings.FieldsFuncSeq(a.text, isPathMark) {
		if strings.HasPrefix(part, "_") {
			j.report(a.off, CodeDunder, "%s names an internal attribute", quote(a.text))
		}
		e = j.found(e, part, a.off)
	}
	return e.whole()
}

// tests judges the name of a test that a filter applies.
func (j *judge) tests(i int32) {
	switch a := &j.nodes[i]; {
	case a.form != literal:
		j.report(a.off, CodeComputed, "the test that a filter applies has a computed name")
	case a.text == "attr":
		j.report(a.off, CodeAttr, "the filter attr is applied through a filter")
	case !tests.has(a.text):
		j.report(a.off, CodeMethod, "the test %s is not one that templates need", quote(a.text))
	}
}

func (j *judge) test(n *node) value {
	if !tests.has(n.text) {
		j.report(n.off, CodeMethod, "the test %s is not one that templates need", quote(n.text))
	}
	of := &j.nodes[n.first]
	if of.form == variable && j.nodes[n.first].next == 0 { // a function may be asked for
		j.spelling(of)
		return plain(numbers)
	}
	j.inside(n.first)
	return plain(numbers)
}
