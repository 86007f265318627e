package convert

import (
	_ "embed"
	"maps"
	"strings"
	"sync"
)

// sometimesText says of types which modules they have under some configurations only,
// which linears.txt lacks for that. crosscheck/linears/sometimes.py makes it of the sources.
//
//go:embed sometimes.txt
var sometimesText string

// sometimesRows are marks by type and last part of a name.
var sometimesRows = sync.OnceValue(func() map[string]map[string]byte {
	rows := map[string]map[string]byte{}
	for kind, row := range rowsByType(sometimesText) {
		rows[kind] = map[string]byte{}
		for _, name := range strings.Fields(row) {
			rows[kind][name[:len(name)-1]] = name[len(name)-1]
		}
	}
	return rows
})

// called is the mark of a module by its last name alone, 0 for none. A module of a list has
// the list's name: "mlp.*".
func (t *linears) called(module string) byte {
	if t.sometimes == nil {
		return 0
	}
	before, last, listed := cutLast(module)
	if listed && strings.Trim(last, "0123456789") == "" {
		_, list, _ := cutLast(before)
		last = list + ".*"
	}
	return t.sometimes[last]
}

// lasts are the last parts of names by what they are here: linear, of another kind.
func (t *linears) lasts() (linear, other map[string]bool) {
	if t.linear == nil {
		t.linear, t.other = map[string]bool{}, map[string]bool{}
		conv := map[string]bool{}
		t.root.last("", t.linear, conv, t.other)
		maps.Copy(t.linear, conv) // which way it lies its name says: isConv1D
	}
	return t.linear, t.other
}

// cutLast splits a name before its last part.
func cutLast(module string) (before, last string, found bool) {
	at := strings.LastIndexByte(module, '.')
	return module[:max(at, 0)], module[at+1:], at >= 0
}

// below says what becomes of a weight of a model that has one of this type in it.
func (t *linears) below(module string) byte {
	for more := true; more; {
		if m := t.root.find(module); m != 0 {
			return m
		}
		_, module, more = strings.Cut(module, ".")
	}
	return 0
}

// elsewhere reports a name that ends as linear modules of these types do, and no other
// modules: a decoder's cross-attention has projections called as those of its attention.
func (r *bnbRule) elsewhere(module string) bool {
	_, last, _ := cutLast(module)
	found := false
	for i := -1; i < len(r.Inside); i++ {
		t := r.Table
		if i >= 0 {
			t = r.Inside[i]
		}
		linear, other := t.lasts()
		if other[last] {
			return false
		}
		found = found || linear[last]
	}
	return found && strings.Trim(last, "0123456789") != ""
}

// absent calls add with the modules that are left alone in this type and that a file lacks,
// since they share another module's numbers: a list of modules by the list's name.
func (t *linears) absent(has func(name string) bool, add func(module string)) {
	t.root.kept("", func(module string) {
		for i := -1; i < len(t.starts); i++ {
			start := ""
			if i >= 0 {
				start = t.starts[i]
			}
			if has(start + strings.ReplaceAll(module, "*", "0") + ".weight") {
				return
			}
		}
		before, _, _ := strings.Cut(module, ".*")
		add(before)
	})
}

// kept calls add with the names of linear modules that are left alone.
func (n *linearNode) kept(name string, add func(string)) {
	if n.mark == markKept {
		add(name)
	}
	for part, below := range n.next {
		if name != "" {
			part = name + "." + part
		}
		below.kept(part, add)
	}
}

// mostInside is how many types, and how many architectures, of a configuration are looked up:
// transformers' largest has nine types.
const mostInside = 16

// tables finds the rows of the model's own type, nil for none, and of those in it.
func (r *bnbRule) tables(own string, architectures []string) {
	r.Table, r.Inside = linearsOf(own), nil
	if r.Table != nil {
		r.Class, r.Table.class = classOf(own, architectures)
	}
	seen := map[string]bool{own: true}
	for _, t := range r.ModelTypes[:min(len(r.ModelTypes), mostInside)] {
		if row := linearRows()[t]; row != "" && !seen[t] {
			seen[t] = true
			r.Inside = append(r.Inside, linearsOf(t))
		}
	}
}
