package browse

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Row is a tensor of a tree. Names are divided at dots and slashes.
type Row struct {
	Name           string
	Kind           string
	Size, Elements int64
}

// A Tree shows rows by the modules in their names. No node is made before it is shown: a module is a
// range of the rows in the order of their names, so that a name of 10,000 parts costs one node.
type Tree struct {
	Columns []Column // the first has the names
	// Cell is the text of a column but the first.
	Cell func(n *Node, column int) string
	// Style is that of a row; a module has the worst of its rows. Nil is plain.
	Style func(row int) Style

	rows     []Row
	order    []int32 // rows by name
	shown    []int32 // those of order that the filter leaves
	sizes    []int64 // sums over shown: sizes[i] is of the first i rows
	elements []int64
	open     map[span2]bool
	before   map[span2]bool // what was open before the filter
	nodes    []Node
	bySize   bool
	known    map[span2]facts
}

// A span2 is a range of rows, with the length of the name that they have in common.
type span2 struct{ lo, hi, end int }

// facts are what a module says about its rows. They are found when it is first drawn.
type facts struct {
	kind    string
	style   Style
	flagged int
}

// A Node is a module, or a row.
type Node struct {
	Row            int // -1 for a module
	Tensors        int
	Size, Elements int64
	// Kind is that of most bytes, with the number of others: "Q4_K +2".
	Kind string
	// Flagged is the number of rows that have a style.
	Flagged int
	// Of is the size of all rows.
	Of int64

	at      span2
	from    int // the label begins here in the name
	depth   int
	opened  bool
	style   Style
	counted bool
}

// NewTree arranges rows. step is called with an amount of work, and may end it.
func NewTree(rows []Row, step func(int64) error) (*Tree, error) {
	t := &Tree{rows: rows, order: make([]int32, len(rows)), open: map[span2]bool{}}
	for i := range t.order {
		t.order[i] = int32(i)
	}
	var failed error
	slices.SortStableFunc(t.order, func(a, b int32) int {
		x, y := rows[a].Name, rows[b].Name
		if failed == nil {
			failed = step(1 + int64(min(len(x), len(y))/32))
		}
		if failed != nil {
			return 0
		}
		return comparePaths(x, y)
	})
	if failed != nil {
		return nil, failed
	}
	t.filter(nil)
	return t, nil
}

// separator reports whether a byte divides a name.
func separator(c byte) bool { return c == '.' || c == '/' }

// part returns where the part of a name that begins at from ends.
func part(name string, from int) int {
	for from < len(name) && !separator(name[from]) {
		from++
	}
	return from
}

// comparePaths orders names part by part, numbers by their value: what begins with the same parts
// lies together.
func comparePaths(a, b string) int {
	for x, y := 0, 0; ; {
		if x > len(a) || y > len(b) {
			return cmp.Or(cmp.Compare(len(a)-x, len(b)-y), strings.Compare(a, b))
		}
		i, j := part(a, x), part(b, y)
		if a[x:i] != b[y:j] {
			return wire.Natural(a[x:i], b[y:j])
		}
		x, y = i+1, j+1
	}
}

// name returns the name of a row that is shown.
func (t *Tree) name(i int) string { return t.rows[t.shown[i]].Name }

// filter shows the rows that keep accepts, all for nil, and opens what leads to them if they are few.
func (t *Tree) filter(keep func(row int) bool) {
	t.shown = t.order
	if keep != nil {
		t.shown = make([]int32, 0, len(t.order))
		for _, row := range t.order {
			if keep(int(row)) {
				t.shown = append(t.shown, row)
			}
		}
	}
	t.sizes, t.elements = make([]int64, len(t.shown)+1), make([]int64, len(t.shown)+1)
	for i, row := range t.shown {
		t.sizes[i+1] = wire.AddCap(t.sizes[i], t.rows[row].Size)
		t.elements[i+1] = wire.AddCap(t.elements[i], t.rows[row].Elements)
	}
	switch {
	case keep != nil:
		if t.before == nil {
			t.before = t.open
		}
		t.open = map[span2]bool{}
	case t.before != nil:
		t.open, t.before = t.before, nil
	}
	t.known = map[span2]facts{}
	t.build()
	for len(t.nodes) == 1 && t.nodes[0].Row < 0 && !t.nodes[0].opened {
		t.toggle(0)
	}
	if keep != nil && len(t.shown) <= fewRows {
		t.openAll()
	}
}

// fewRows are so few that a search opens all modules that they lie in.
const fewRows = 1000

// node returns the module or row of a range below a part of the name, with the parts that all have in common.
func (t *Tree) node(lo, hi, from, depth int) Node {
	first, last := t.name(lo), t.name(hi-1)
	n := Node{Row: -1, Tensors: hi - lo, Size: t.sizes[hi] - t.sizes[lo], Elements: t.elements[hi] - t.elements[lo], Of: t.sizes[len(t.shown)], from: from, depth: depth}
	if hi-lo == 1 {
		n.Row, n.at = int(t.shown[lo]), span2{lo, hi, len(first)}
		return n
	}
	end := from
	for end <= len(first) && end <= len(last) {
		i, j := part(first, end), part(last, end)
		if first[end:i] != last[end:j] {
			break
		}
		end = i + 1
	}
	n.at = span2{lo, hi, end}
	return n
}

// kids returns the nodes below a range: those of the same next part.
func (t *Tree) kids(at span2, depth int) (list []Node) {
	for lo := at.lo; lo < at.hi; {
		hi, name := lo+1, t.name(lo)
		if at.end <= len(name) {
			next := name[at.end:part(name, at.end)]
			hi = lo + 1 + sort.Search(at.hi-lo-1, func(i int) bool {
				other := t.name(lo + 1 + i)
				return at.end > len(other) || other[at.end:part(other, at.end)] != next
			})
		}
		list = append(list, t.node(lo, hi, min(at.end, len(name)), depth))
		lo = hi
	}
	if t.bySize {
		slices.SortStableFunc(list, func(a, b Node) int { return cmp.Compare(b.Size, a.Size) })
	}
	return list
}

// build makes the nodes that are shown: those below open modules.
func (t *Tree) build() {
	t.nodes = t.nodes[:0]
	waiting := t.kids(span2{0, len(t.shown), 0}, 0)
	slices.Reverse(waiting)
	for len(waiting) > 0 {
		n := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		n.opened = n.Row < 0 && t.open[n.at]
		t.nodes = append(t.nodes, n)
		if n.opened {
			kids := t.kids(n.at, n.depth+1)
			slices.Reverse(kids)
			waiting = append(waiting, kids...)
		}
	}
}

// toggle opens or closes a module.
func (t *Tree) toggle(i int) {
	n := &t.nodes[i]
	if n.Row >= 0 {
		return
	}
	if n.opened {
		delete(t.open, n.at)
	} else {
		t.open[n.at] = true
	}
	t.build()
}

// openAll opens all modules.
func (t *Tree) openAll() {
	waiting := []span2{{0, len(t.shown), 0}}
	for len(waiting) > 0 {
		at := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		for _, n := range t.kids(at, 0) {
			if n.Row < 0 {
				t.open[n.at] = true
				waiting = append(waiting, n.at)
			}
		}
	}
	t.build()
}

// closeAll closes all modules.
func (t *Tree) closeAll() {
	clear(t.open)
	t.build()
}

// parent returns the node that another lies in, or itself.
func (t *Tree) parent(i int) int {
	for k := i - 1; k >= 0; k-- {
		if t.nodes[k].depth < t.nodes[i].depth {
			return k
		}
	}
	return i
}

// find returns the node of a row, or the innermost open module that it lies in.
func (t *Tree) find(row int) int {
	at := slices.Index(t.shown, int32(row))
	found := -1
	for i := range t.nodes {
		if n := &t.nodes[i]; at >= n.at.lo && at < n.at.hi {
			found = i
		}
	}
	return found
}

// reveal opens the modules that a row lies in, and returns its node, -1 if it is not shown.
func (t *Tree) reveal(row int) int {
	for {
		i := t.find(row)
		if i < 0 || t.nodes[i].Row >= 0 {
			return i
		}
		t.toggle(i)
	}
}

// rowsOf calls f for the rows of a node.
func (t *Tree) rowsOf(n *Node, f func(row int)) {
	for _, row := range t.shown[n.at.lo:n.at.hi] {
		f(int(row))
	}
}

// count finds what a node says about its rows.
func (t *Tree) count(n *Node) {
	if n.counted {
		return
	}
	k, ok := t.known[n.at]
	if !ok || n.Row >= 0 {
		sizes := map[string]int64{}
		t.rowsOf(n, func(row int) {
			sizes[t.rows[row].Kind] += max(t.rows[row].Size, 1)
			if t.Style != nil {
				if s := t.Style(row); s != Plain {
					k.flagged++
					k.style = worse(k.style, s)
				}
			}
		})
		most := int64(0)
		for kind, size := range sizes {
			if size > most || size == most && kind < k.kind {
				most, k.kind = size, kind
			}
		}
		if len(sizes) > 1 {
			k.kind += " +" + strconv.Itoa(len(sizes)-1)
		}
		if n.Row < 0 {
			t.known[n.at] = k
		}
	}
	n.Kind, n.style, n.Flagged, n.counted = k.kind, k.style, k.flagged, true
}

// worse returns the style that asks for more attention.
func worse(a, b Style) Style {
	for _, s := range []Style{Bad, Warning, Note, Good, Dim} {
		if a == s || b == s {
			return s
		}
	}
	return max(a, b)
}

// Touch forgets what the modules said about their rows, whose styles have changed.
func (t *Tree) Touch() {
	clear(t.known)
	for i := range t.nodes {
		t.nodes[i].counted = false
	}
}

// path returns the name of a module or row, without what follows it.
func (t *Tree) path(n *Node) string {
	name := t.name(n.at.lo)
	return name[:max(min(n.at.end, len(name)+1)-1, 0)]
}

// label returns the part of the name that a node adds.
func (t *Tree) label(n *Node) string {
	name := t.name(n.at.lo)
	end := len(name)
	if n.Row < 0 {
		end = min(max(n.at.end-1, n.from), len(name))
	}
	return clip(name[min(n.from, end):end])
}

// longText is longer than any terminal is wide.
const longText = 2048

// clip leaves out the middle of a text that no terminal shows, before it is cleaned.
func clip(s string) string {
	if len(s) <= longText {
		return s
	}
	return s[:longText/2] + "…" + s[len(s)-longText/2:]
}
