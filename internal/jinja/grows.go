package jinja

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// What a template takes must be bounded by the data that it is given. So each expression has a
// bound: what its numbers and its lengths may be for data of length one, by the literals of the
// template. Loops inside loops multiply, and so do products; what a name is given again and again
// may grow by what is added to it, but not by a factor.

const (
	maxNumber = 1 << 16 // of a literal, of the end of a range, and of the rounds of loops in loops
	maxMade   = 1 << 20 // bytes that literals make of a piece of data of one byte
	maxWidth  = 1 << 8  // to which a text is filled, or a number rounded
	maxLoops  = 8       // loops in loops; published templates have three
	// growthPasses is how often the bounds of names are found anew before one that still grows has none.
	growthPasses = 8
	// maxGrown bounds the names that a template gives values.
	maxGrown = 256
)

// A nameSet is a set of names by their numbers.
type nameSet [maxGrown / 64]uint64

func (s *nameSet) has(k int) bool { return s[k/64]>>(k%64)&1 == 1 }
func (s *nameSet) add(k int)      { s[k/64] |= 1 << (k % 64) }

func (s *nameSet) join(t *nameSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

// An extent is what an expression may be: a number, and the length of a text or of a list.
type extent struct{ num, size float64 }

func (b extent) or(c extent) extent { return extent{max(b.num, c.num), max(b.size, c.size)} }

func times(a, b float64) float64 { return max(1, a) * max(1, b) }

// A growth finds what a template takes.
type growth struct {
	j      *judge
	bounds map[string]extent // of names, of members behind a dot, and of what macros write
	grew   bool
	last   bool
	pass   int

	rounds float64 // of the loops around a place
	loops  int
	cost   map[string]float64 // rounds of the loops in a macro
	deep   map[string]int
	calls  map[string]float64 // macros that a macro calls, in any depth
	fan    map[string]int     // how often a macro writes what it is given, at most
	inside string             // the macro around a place

	names   map[string]int    // names that are given values, and macros behind a parenthesis, by number
	from    [maxGrown]nameSet // what each is made of
	keeps   nameSet           // those that keep their value from one round of a loop to the next
	over    map[string]bool   // targets of loops: parts of what a loop goes over
	doubles int               // how often values are doubled in which something stands more than once
}

// grows reports what has no bound.
func (j *judge) grows(root int32) {
	g := &growth{j: j, bounds: map[string]extent{}, cost: map[string]float64{}, calls: map[string]float64{}, fan: map[string]int{}, deep: map[string]int{}, names: map[string]int{}, over: map[string]bool{}}
	for g.pass = range growthPasses {
		g.grew, g.rounds, g.loops = false, 1, 0
		if g.visit(root); j.err != nil || !g.grew {
			break
		}
	}
	g.close()
	g.last, g.rounds, g.loops = true, 1, 0
	g.visit(root)
}

func (g *growth) report(off int32, text string) {
	if g.last {
		g.j.report(off, CodeGrowth, "%s", text)
	}
}

// give joins a bound to that of a name.
func (g *growth) give(name string, b extent) {
	old, known := g.bounds[name]
	now := old.or(b)
	if now == old && known {
		return
	}
	if !known {
		if g.j.err = g.j.b.Hold(nameCost + int64(len(name))); g.j.err != nil {
			return
		}
	}
	if g.pass >= growthPasses-1 && known {
		if now.num > old.num {
			now.num = math.Inf(1)
		}
		if now.size > old.size {
			now.size = math.Inf(1)
		}
	}
	g.bounds[name], g.grew = now, true
}

// number returns the number of a name, or -1 if there are too many.
func (g *growth) number(name string) int {
	i, ok := g.names[name]
	if !ok {
		if len(g.names) == maxGrown {
			return -1
		}
		if g.j.err = g.j.b.Hold(nameCost + int64(len(name))); g.j.err != nil {
			return -1
		}
		i = len(g.names)
		g.names[name] = i
	}
	return i
}

// addTo adds a name to a set.
func (g *growth) addTo(s *nameSet, name string) {
	if k := g.number(name); k >= 0 {
		s.add(k)
	}
}

// close finds what each name is made of in any number of rounds.
func (g *growth) close() {
	for k := range len(g.names) {
		for i := range len(g.names) {
			if g.j.step() && g.from[i].has(k) {
				g.from[i].join(&g.from[k])
			}
		}
	}
}

// around is the set of names that a name is made of, and that are made of it.
func (g *growth) around(k int) (out nameSet) {
	for m := range len(g.names) {
		if g.from[k].has(m) && g.from[m].has(k) {
			out.add(m)
		}
	}
	return out
}

// visit goes over a statement.
func (g *growth) visit(i int32) {
	if !g.j.step() {
		return
	}
	n := &g.j.nodes[i]
	switch n.form {
	case loopOver:
		g.loop(n)
	case assign:
		from := g.j.nodes[n.first].next
		g.assign(n.first, from, g.of(from))
		g.writes(n.off, from)
	case capture:
		through := g.j.nodes[n.first].next
		do := g.j.nodes[through].next
		g.visit(do)
		g.assign(n.first, do, g.written(do).or(g.of(through)))
	case macro:
		g.macro(n)
	case callBlock:
		g.writes(n.off, i)
		g.j.each(n.first, g.either)
	default:
		g.j.each(n.first, g.either)
	}
}

// either goes over a statement or an expression.
func (g *growth) either(i int32) {
	if g.j.nodes[i].form <= scope {
		g.visit(i)
	} else {
		g.of(i)
		g.writes(g.j.nodes[i].off, i)
	}
}

// writes looks how much calls in calls write.
func (g *growth) writes(off, i int32) {
	if g.last && g.nested(i) > maxNumber {
		g.report(off, "macros in macros write what they are given more often than any template needs")
	}
}

// written is what a body writes, at most, each time that it is run.
func (g *growth) written(i int32) (b extent) {
	if !g.j.step() {
		return b
	}
	switch n := &g.j.nodes[i]; {
	case n.form == output:
		g.j.each(n.first, func(i int32) { b = b.or(g.of(i)) })
	case n.form <= scope:
		g.j.each(n.first, func(i int32) { b = b.or(g.written(i)) })
	}
	return b
}

func (g *growth) loop(n *node) {
	to := n.first
	over := g.j.nodes[to].next
	condition := g.j.nodes[over].next
	if n.flag {
		g.report(n.off, "a loop that calls itself has no bound")
	}
	in := g.of(over)
	g.give("loop", extent{num: in.size})
	g.target(to, in)
	g.of(condition)
	rounds, loops := g.rounds, g.loops
	g.rounds, g.loops = times(g.rounds, in.size), g.loops+1
	g.check(n.off)
	g.j.each(g.j.nodes[condition].next, g.visit)
	g.rounds, g.loops = rounds, loops
}

// check reports the loops around a place.
func (g *growth) check(off int32) {
	switch {
	case g.rounds > maxNumber:
		g.report(off, "loops in loops run more often than the data say")
	case g.loops > maxLoops:
		g.report(off, "more loops in loops than any template needs")
	}
	if g.inside != "" && (g.rounds > g.cost[g.inside] || g.loops > g.deep[g.inside]) {
		g.cost[g.inside], g.deep[g.inside], g.grew = max(g.cost[g.inside], g.rounds), max(g.deep[g.inside], g.loops), true
	}
}

// target gives the elements of what a loop goes over to its names.
func (g *growth) target(to int32, b extent) {
	switch n := &g.j.nodes[to]; n.form {
	case variable:
		g.give(n.text, b)
		g.part(n.text)
	case target:
		g.give("."+n.text, b)
	case group:
		g.j.each(n.first, func(i int32) { g.target(i, b) })
	}
}

func (g *growth) macro(n *node) {
	rounds, loops, inside := g.rounds, g.loops, g.inside
	g.rounds, g.loops, g.inside = 1, 0, n.text
	before := g.calls[n.text]
	g.calls[n.text] = 0
	var given nameSet
	g.addTo(&given, "caller")
	g.j.each(n.first, func(i int32) {
		if p := &g.j.nodes[i]; p.form == parameter {
			g.give(p.text, g.of(p.first))
			g.addTo(&given, p.text)
		} else {
			g.visit(i)
			g.give("("+n.text, g.written(i))
			g.fan[n.text] = max(g.fan[n.text], g.copies(i, &given))
		}
	})
	g.rounds, g.loops, g.inside = rounds, loops, inside
	g.calls[n.text] = max(g.calls[n.text], before)
	g.grew = g.grew || g.calls[n.text] > before
}

// assign gives a name a value, and looks how often the name is in it.
func (g *growth) assign(to, from int32, b extent) {
	n := &g.j.nodes[to]
	if n.form == group {
		g.j.each(n.first, func(i int32) { g.assign(i, from, b) })
		return
	}
	name := n.text
	if n.form == target {
		name = "." + name
	}
	g.give(name, b)
	if n.form == variable && g.isPart(from) {
		g.part(name)
	}
	k := g.number(name)
	if k < 0 {
		g.report(n.off, "more names than any template has")
		return
	}
	if !g.last {
		if n.form == target {
			g.keeps.add(k)
		}
		used := g.uses(from)
		g.from[k].join(&used)
		return
	}
	if in := g.around(k); (g.loops > 0 || g.inside != "") && in.has(k) && g.persists(&in) {
		if g.copies(from, &in) > 1 {
			g.report(n.off, "a loop makes a multiple of "+quote(n.text)+" each time")
		}
		return
	}
	if times := g.repeats(from); times > 1 { // once for each time that this place is passed: a loop begins with what stood before it
		if g.doubles += bits.Len(uint(times - 1)); g.doubles > maxDoubles {
			g.report(n.off, "a value is doubled again and again")
		}
	}
}

// persists reports whether one of the names keeps its value from one round of a loop to the next:
// a member of a namespace, or what a list or a dictionary holds.
func (g *growth) persists(in *nameSet) bool {
	for k := range len(g.names) {
		if in.has(k) && g.keeps.has(k) {
			return true
		}
	}
	return false
}

// part notes that a name is a part of a value.
func (g *growth) part(name string) {
	if g.over[name] {
		return
	}
	if g.j.err = g.j.b.Hold(nameCost); g.j.err == nil {
		g.over[name], g.grew = true, true
	}
}

// repeats is how often a name stands in what an expression makes, at most.
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

// nested is how many pieces calls of macros in calls of macros write, at most: each writes what it is
// given so many times, a name or not.
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
		v := numberOf(n.text)
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

// widths are filters and methods that fill a text up to a width, or make so many of something.
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

// places is how many digits a number may have before its point that is written in so many bytes. Two
// bytes of an exponent are as many as a hundred digits.
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

// formatted is a text with values in it. What it makes of them is in its own text, which must be a
// literal to be known.
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
func numberOf(text string) float64 {
	if v, err := strconv.ParseUint(text, 0, 64); err == nil {
		return float64(v)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.Inf(1)
	}
	return math.Abs(v)
}
