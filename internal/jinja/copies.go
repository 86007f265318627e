package jinja

import "strings"

// repeats returns how often, at most, the value of a name occurs in the result of an expression.
func (g *growth) repeats(i int32) (most int) {
	used := g.uses(i)
	for k := range len(g.names) {
		if one := (nameSet{}); used.has(k) {
			one.add(k)
			most = max(most, g.copies(i, &one))
		}
	}
	return most
}

// maxDoubles bounds how often a template may double what it makes, outside of loops.
const maxDoubles = 16

// uses are the names in an expression, or in a body.
func (g *growth) uses(i int32) (out nameSet) {
	if !g.j.step() {
		return out
	}
	n := &g.j.nodes[i]
	if k, ok := g.names[g.nameOf(n)]; ok {
		out.add(k)
	}
	g.j.each(n.first, func(i int32) {
		in := g.uses(i)
		out.join(&in)
	})
	return out
}

// ofSpace reports whether an operand may be a namespace, or hold one.
func (g *growth) ofSpace(i int32) bool {
	for g.j.step() {
		switch n := &g.j.nodes[i]; n.form {
		case attribute, subscript, filter, call:
			i = n.first
		case variable:
			v, _ := g.j.vars.get(n.text)
			return g.j.everything(v)&space != 0
		default:
			return true
		}
	}
	return false
}

func (g *growth) nameOf(n *node) string {
	switch n.form {
	case variable:
		return n.text
	case attribute:
		if g.ofSpace(n.first) {
			return "." + n.text
		}
	}
	return ""
}

// copies is how often names of a set may be in what an expression, or a body, makes.
func (g *growth) copies(i int32, of *nameSet) int {
	if !g.j.step() {
		return 0
	}
	n := &g.j.nodes[i]
	if k, ok := g.names[g.nameOf(n)]; ok && of.has(k) {
		return 1
	}
	switch n.form {
	case conditional: // the condition is not in it
		return g.most(g.j.nodes[n.first].next, of)
	case either, branches:
		return g.most(n.first, of)
	case loopOver:
		return many(2, g.sum(n.first, of))
	case negation, comparison, test, slice, numeric, constant:
		return 0
	case subscript, attribute:
		return g.copies(n.first, of)
	case modulo:
		return many(g.sum(n.first, of), g.fields(n.first))
	case call:
		return g.copiesOfCall(n, of)
	case filter:
		sum := g.sum(n.first, of)
		if enlarges[n.text] {
			sum = many(sum, 2)
		}
		if n.text == "format" {
			sum = many(sum, g.fields(n.first))
		}
		return sum
	}
	return g.sum(n.first, of)
}

// many is a product of two counts, up to more than any bound: an int of 32 bits holds no larger one.
func many(a, b int) int {
	if a > 0 && b > maxNumber/a {
		return maxNumber + 1
	}
	return a * b
}

// isOf reports whether a name is in a set.
func (g *growth) isOf(name string, of *nameSet) bool {
	k, ok := g.names[name]
	return ok && of.has(k)
}

// nested returns the most pieces that nested calls of macros write: each call may write its
// arguments several times.
func (g *growth) nested(i int32) int {
	if !g.j.step() {
		return 1
	}
	n := &g.j.nodes[i]
	switch f := &g.j.nodes[n.first]; {
	case n.form == callBlock: // a body is given to a call
		count := 1
		g.j.each(n.first, func(i int32) {
			if g.j.nodes[i].form != parameter {
				count = many(count, g.nested(i))
			}
		})
		return count
	case n.form == call && f.form == variable && g.j.macros[f.text] > 0:
		return many(max(1, g.fan[f.text]), g.pieces(f.next))
	case n.form == concat, n.form == sum, n.form <= scope:
		return g.pieces(n.first)
	}
	most := 1
	g.j.each(n.first, func(i int32) { most = max(most, g.nested(i)) })
	return most
}

// pieces is how many expressions write together.
func (g *growth) pieces(first int32) int {
	count := 0
	g.j.each(first, func(i int32) { count = min(count+g.nested(i), maxNumber+1) })
	return max(1, count)
}

// sum is how often names of a set may be in what expressions make together.
func (g *growth) sum(first int32, of *nameSet) (sum int) {
	g.j.each(first, func(i int32) { sum = min(sum+g.copies(i, of), maxNumber) })
	return sum
}

// most is how often they may be in one of them.
func (g *growth) most(first int32, of *nameSet) (most int) {
	g.j.each(first, func(i int32) { most = max(most, g.copies(i, of)) })
	return most
}

// copiesOfCall is how often they may be in what a call returns. A macro may write what it is given
// more than once.
func (g *growth) copiesOfCall(n *node, of *nameSet) int {
	f := &g.j.nodes[n.first]
	switch {
	case f.form == attribute && f.text == "format":
		return many(g.sum(f.next, of)+g.copies(f.first, of), g.fields(f.first))
	case f.form != variable:
		return g.sum(n.first, of)
	case g.j.macros[f.text] > 0:
		return many(max(2, g.fan[f.text]), g.sum(f.next, of))
	case f.text == "caller" && g.isOf("caller", of):
		return 1
	}
	return g.sum(f.next, of)
}

// fields is how often a format may have one value: as often as it has fields with a name or a number.
func (g *growth) fields(i int32) int {
	n := &g.j.nodes[i]
	switch {
	case n.form != literal:
		return 2
	case strings.Contains(n.text, "%("), strings.ContainsAny(n.text, "{") && !strings.Contains(n.text, "{}"):
		return max(1, strings.Count(n.text, "%(")+strings.Count(n.text, "{"))
	}
	return 1
}

// enlarges are filters that write more than they are given.
var enlarges = map[string]bool{
	"tojson": true, "urlencode": true, "e": true, "escape": true, "forceescape": true, "pprint": true, "xmlattr": true, "urlize": true, "indent": true, "replace": true, "wordwrap": true,
}
