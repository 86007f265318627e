package jinja

import (
	"math"
	"math/bits"
)

// The time and memory of a template must be bounded by the data that it gets. So each expression has a
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
	doubles int               // how often values are doubled by using one more than once
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
	if now == old && known || g.j.err != nil { // an error stays: a later charge that fits must not hide it
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
		if len(g.names) == maxGrown || g.j.err != nil {
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
	if times := g.repeats(from); times > 1 { // once per pass: a loop begins with the value from before it
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
	if g.over[name] || g.j.err != nil {
		return
	}
	if g.j.err = g.j.b.Hold(nameCost); g.j.err == nil {
		g.over[name], g.grew = true, true
	}
}
