package transformers

import (
	_ "embed"
	"maps"
	"strings"
	"sync"
)

// sometimesText lists modules of types that exist under some configurations only, and so
// are not in linears.txt. crosscheck/linears/sometimes.py generates it from the sources.
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

// called returns the mark of a module by only its last name, 0 if it has none. A module in a
// list has the list's name: "mlp.*".
func (t *Linears) called(module string) byte {
	if t.sometimes == nil {
		return 0
	}
	before, last, listed := CutLast(module)
	if listed && strings.Trim(last, "0123456789") == "" {
		_, list, _ := CutLast(before)
		last = list + ".*"
	}
	return t.sometimes[last]
}

// lasts returns the last parts of names that are linear modules in this type, and those
// that are other modules.
func (t *Linears) lasts() (linear, other map[string]bool) {
	if t.linear == nil {
		t.linear, t.other = map[string]bool{}, map[string]bool{}
		conv := map[string]bool{}
		t.root.last("", t.linear, conv, t.other)
		maps.Copy(t.linear, conv) // Transposed decides about its layout
	}
	return t.linear, t.other
}

// CutLast splits a name before its last part.
func CutLast(module string) (before, last string, found bool) {
	at := strings.LastIndexByte(module, '.')
	return module[:max(at, 0)], module[at+1:], at >= 0
}

// below returns the mark of a weight of a model that contains one of this type.
func (t *Linears) below(module string) byte {
	for more := true; more; {
		if m := t.root.find(module); m != 0 {
			return m
		}
		_, module, more = strings.Cut(module, ".")
	}
	return 0
}

// elsewhere reports whether the name ends like linear modules of these types, and like no
// other modules. For example, the projections of cross-attention have the names of those
// of attention.
func (r *Rule) elsewhere(module string) bool {
	_, last, _ := CutLast(module)
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

// Absent calls add with the modules of this type that are left alone and not in the file,
// because they share another module's numbers: for a list of modules, the list's name.
func (t *Linears) Absent(has func(name string) bool, add func(module string)) {
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
func (n *node) kept(name string, add func(string)) {
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

// MostInside is how many types and architectures of a configuration are looked up;
// transformers' largest has nine types.
const MostInside = 16

// Tables sets the rows of the model's own type, nil for none, and of those inside it.
func (r *Rule) Tables(own string, architectures []string) {
	r.Table, r.Inside = linearsOf(own), nil
	if r.Table != nil {
		r.Class, r.Table.class = classOf(own, architectures)
	}
	seen := map[string]bool{own: true}
	for _, t := range r.ModelTypes[:min(len(r.ModelTypes), MostInside)] {
		if row := linearRows()[t]; row != "" && !seen[t] {
			seen[t] = true
			r.Inside = append(r.Inside, linearsOf(t))
		}
	}
}
