package jinja

import (
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// of is the bound of an expression.
func (g *growth) of(i int32) extent {
	if !g.j.step() {
		return extent{}
	}
	n := &g.j.nodes[i]
	switch n.form {
	case literal:
		return extent{size: float64(len(n.text))}
	case numeric:
		v := g.numberOf(n.text)
		if v > maxNumber {
			g.report(n.off, "a number is larger than any that templates need")
		}
		return extent{num: v}
	case variable:
		return g.bounds[n.text].or(g.bounds[""])
	case attribute:
		if name := g.nameOf(n); name != "" {
			return g.of(n.first).or(g.bounds[name])
		}
		return g.of(n.first)
	case product, arithmetic:
		return g.product(n)
	case modulo:
		return g.formatted(n, n.first, g.all(n.first))
	case call:
		return g.call(n)
	case filter:
		b := g.all(n.first)
		return g.made(n, n.text, n.first, b)
	case list, group, dictionary:
		b, count := extent{}, 0.0
		g.j.each(n.first, func(i int32) { b, count = b.or(g.of(i)), count+1 })
		return b.or(extent{size: count})
	}
	return g.all(n.first)
}

// all is the largest bound of several expressions.
func (g *growth) all(first int32) (b extent) {
	g.j.each(first, func(i int32) { b = b.or(g.of(i)) })
	return b
}

func (g *growth) product(n *node) extent {
	a := g.of(n.first)
	b := g.of(g.j.nodes[n.first].next)
	switch {
	case n.form == arithmetic && n.text != "**":
		return a.or(b)
	case n.text == "**":
		if g.j.nodes[n.first].form != numeric || g.j.nodes[g.j.nodes[n.first].next].form != numeric { // the data may be any numbers
			b.num = math.Inf(1)
		}
		a.num = math.Pow(max(2, a.num), b.num)
	default:
		a = extent{times(a.num, b.num), max(times(a.size, b.num), times(b.size, a.num))}
	}
	if a.num > maxMade || a.size > maxMade {
		g.report(n.off, "a product is larger than any that templates need")
	}
	return a
}

func (g *growth) call(n *node) extent {
	f := &g.j.nodes[n.first]
	b := g.all(f.next)
	switch {
	case f.form == attribute:
		of := g.of(f.first)
		if methodReturns[f.text] == fills || f.text == "setdefault" {
			g.fill(n, f, b)
		}
		return g.made(n, f.text, f.first, of.or(b), f.next)
	case f.form != variable:
		return b.or(g.of(n.first))
	case f.text == "namespace":
		g.j.each(f.next, func(i int32) {
			if a := &g.j.nodes[i]; a.form == keyword {
				g.give("."+a.text, g.of(a.first))
			}
		})
		return extent{}
	case f.text == "range":
		if b.num > maxNumber {
			g.report(n.off, "the end of a range is larger than any that templates need")
		}
		return extent{b.num, b.num}
	case g.j.macros[f.text] > 0:
		g.apply(n, f)
		return b.or(g.bounds["("+f.text])
	}
	return b
}

// apply is a call of a macro: its loops are in those around the call.
func (g *growth) apply(n, f *node) {
	if d := g.j.macros[f.text]; g.j.defs[d-1].number > maxBound {
		g.give("", g.all(f.next)) // of any parameter
		return
	}
	for d := g.j.macros[f.text]; d != 0 && g.j.step(); d = g.j.defs[d-1].before {
		p := g.j.nodes[g.j.defs[d-1].node].first
		g.j.each(f.next, func(i int32) {
			a := &g.j.nodes[i]
			if a.form == keyword {
				g.give(a.text, g.of(a.first))
			} else if g.j.isParameter(p) {
				g.give(g.j.nodes[p].text, g.of(i))
				p = g.j.nodes[p].next
			}
		})
	}
	if g.inside != "" && g.returns(n, f) {
		return
	}
	made := times(g.rounds, 1+g.calls[f.text])
	if made > maxNumber {
		g.report(n.off, "macros call one another more often than the data say")
	}
	if g.inside != "" {
		g.calls[g.inside] = min(g.calls[g.inside]+made, 2*maxNumber)
	}
	rounds, loops := g.rounds, g.loops
	g.rounds, g.loops = times(g.rounds, g.cost[f.text]), g.loops+g.deep[f.text]
	g.check(n.off)
	g.rounds, g.loops = rounds, loops
}

// returns reports whether a macro calls one that may call it again. It must do so with a part of
// what it was given, or else there is no end.
func (g *growth) returns(n, f *node) bool {
	from, to := g.number("("+g.inside), g.number("("+f.text)
	if from < 0 || to < 0 {
		g.report(n.off, "more names than any template has")
		return false
	}
	if g.from[from].add(to); f.text != g.inside && !g.from[to].has(from) {
		return false
	}
	parts := false
	g.j.each(f.next, func(i int32) { parts = parts || g.isPart(i) })
	if !parts {
		g.report(n.off, "the macro "+quote(f.text)+" is called again by itself, and with no part of what it was given")
	}
	return true
}

// isPart reports whether an expression is a part of a value, or has one in it.
func (g *growth) isPart(i int32) (is bool) {
	if !g.j.step() {
		return false
	}
	n := &g.j.nodes[i]
	switch n.form {
	case attribute, subscript:
		return true
	case variable:
		return g.over[n.text]
	case sum, concat, product:
		return false
	case filter:
		if partFilters[n.text] {
			return true
		}
	case call:
		if f := &g.j.nodes[n.first]; f.form == attribute {
			return partMethods[f.text]
		}
	case conditional: // the condition is no part
		v := g.j.nodes[n.first].next
		return g.isPart(v) || g.isPart(g.j.nodes[v].next)
	}
	g.j.each(n.first, func(i int32) { is = is || g.isPart(i) })
	return is
}

// partFilters and partMethods give parts of what they are applied to.
var (
	partFilters = map[string]bool{"items": true, "first": true, "last": true, "dictsort": true}
	partMethods = map[string]bool{"items": true, "keys": true, "values": true, "get": true, "pop": true}
)

// fill is a list or a dictionary that is given more.
func (g *growth) fill(n, f *node, b extent) {
	of := &g.j.nodes[f.first]
	name := g.nameOf(of)
	if name == "" {
		return
	}
	b.size = max(b.size, g.rounds)
	g.give(name, b)
	k := g.number(name)
	switch {
	case k < 0:
		g.report(n.off, "more names than any template has")
	case !g.last:
		g.keeps.add(k)
		g.j.each(f.next, func(i int32) {
			in := g.uses(i)
			g.from[k].join(&in)
		})
	case g.puts(f.next, k):
		g.report(n.off, quote(of.text)+" is put into itself")
	}
}

// puts reports whether arguments have a name in them that is made of another.
func (g *growth) puts(args int32, k int) (is bool) {
	in := g.around(k)
	g.j.each(args, func(i int32) { is = is || g.copies(i, &in) > 0 })
	return is
}

// widths are filters and methods that fill a text up to a width, or repeat something.
var widths = map[string]bool{"center": true, "ljust": true, "rjust": true, "zfill": true, "expandtabs": true, "indent": true, "batch": true, "slice": true, "wordwrap": true, "round": true, "tojson": true}

// made is what a filter or a method makes. The first is what it is applied to; the arguments follow.
func (g *growth) made(n *node, name string, of int32, b extent, args ...int32) extent {
	first := g.j.nodes[of].next
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case widths[name]:
		if given := g.all(first); given.num > maxWidth {
			g.report(n.off, quote(name)+" is given a larger number than templates need")
		}
	case name == "map" && first != 0 && g.j.nodes[first].form == literal: // a filter, by its name
		return g.made(n, g.j.nodes[first].text, of, b, g.j.nodes[first].next)
	case name == "int" || name == "float":
		b.num = max(b.num, math.Pow(10, g.places(of, b.size)))
		if b.size == 0 {
			b.num = max(1, b.num)
		}
		b.size = 0
	case name == "join":
		if b.size = times(g.of(of).size, g.all(first).size); b.size > maxMade {
			g.report(n.off, "joining makes more than templates need")
		}
	case name == "length" || name == "count":
		b = extent{num: max(b.num, b.size)}
	case name == "replace":
		return g.replaced(n, of, first)
	case name == "format":
		return g.formatted(n, of, b)
	}
	return b
}

// places returns how many digits before the point a number may have that is written in the given
// number of bytes. Two bytes of an exponent may mean a hundred digits.
func (g *growth) places(of int32, size float64) float64 {
	const most = 400
	n := &g.j.nodes[of]
	if n.form == concat || n.form == sum { // the sizes of what is joined are not added
		return most
	}
	if size < 3 || n.form == literal && !strings.ContainsAny(n.text, "eE") {
		return min(size, most)
	}
	return min(math.Pow(10, size-2), most)
}

// replaced is a text in which each piece may be replaced by a longer one.
func (g *growth) replaced(n *node, of, first int32) extent {
	b := g.of(of)
	if first == 0 {
		return b
	}
	old := g.of(first)
	by := extent{}
	if second := g.j.nodes[first].next; second != 0 {
		by = g.of(second)
	}
	if by.size > old.size || g.j.nodes[first].form != literal {
		b.size = times(b.size, math.Ceil(max(1, by.size)/max(1, old.size)))
	}
	if b.size > maxMade {
		g.report(n.off, "replacing makes more than templates need")
	}
	return b
}

// formatted is a text with values in it. Its own text decides about the result, and is known only
// if it is a literal.
func (g *growth) formatted(n *node, of int32, b extent) extent {
	text := &g.j.nodes[of]
	if text.form != literal {
		return b
	}
	digits := 0
	for i := range len(text.text) {
		switch c := text.text[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '*' && strings.Contains(text.text, "%"):
			digits = maxDigits + 1
		default:
			digits = 0
		}
		if digits > maxDigits && strings.ContainsAny(text.text, "%{") {
			g.report(n.off, "a width in a format is larger than any that templates need")
			break
		}
	}
	return b
}

// maxDigits bounds those of a width.
const maxDigits = 3

// numberOf returns a number of the template as a float, which may be infinite.
func (g *growth) numberOf(text string) float64 {
	if v, err := strconv.ParseUint(text, 0, 64); err == nil {
		return float64(v)
	}
	v, ok, err := wire.Float(text, g.j.steps.Take)
	if err != nil {
		g.j.err = err
	}
	if !ok {
		return math.Inf(1)
	}
	return math.Abs(v)
}
