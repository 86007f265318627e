package convert

import (
	_ "embed"
	"strings"
	"sync"
)

// linearsText says of every type of transformers which weights it quantizes with
// bitsandbytes. crosscheck/linears makes it.
//
//go:embed linears.txt
var linearsText string

// What the table says of a weight.
const (
	markLinear = '+'
	markConv1D = '^'
	markKept   = '~' // linear, and left alone
	markMixed  = '?' // linear, and left alone in some classes of the type
	markLast   = '$' // linear, and left alone in the last layer
	markOther  = '_' // of another kind of module
	markFused  = '!'
)

// linears are the weights of one type.
type linears struct {
	starts []string
	root   linearNode
	class  *linearNode // what the model's class says of a name that its type does not: see classes.go
	// Names that its modules have under some configurations only: see sometimes.go.
	sometimes map[string]byte
	// The last parts of names, once asked for.
	linear, other map[string]bool
}

// A linearNode is one part of a name, and what follows it.
type linearNode struct {
	mark byte // 0 where no weight ends
	next map[string]*linearNode
}

// linearsOf finds the row of a type, nil for none.
func linearsOf(modelType string) *linears {
	row, ok := linearRows()[modelType]
	if !ok {
		return nil
	}
	starts, tree, _ := strings.Cut(row, "|")
	t := &linears{starts: strings.Fields(starts), sometimes: sometimesRows()[modelType]}
	p := linearParser{text: tree}
	p.list(&t.root)
	return t
}

// linearRows are the rows by type: what follows the first bar.
var linearRows = sync.OnceValue(func() map[string]string { return rowsByType(linearsText) })

// rowsByType reads lines of types, a bar and what is said of them.
func rowsByType(text string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		types, row, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, t := range strings.Fields(types) {
			rows[t] = row
		}
	}
	return rows
}

// A linearParser reads "a.(b+ c.d~) e^".
type linearParser struct{ text string }

func (p *linearParser) list(into *linearNode) {
	for p.text != "" && p.text[0] != ')' {
		p.one(into)
		p.text = strings.TrimPrefix(p.text, " ")
	}
}

func (p *linearParser) one(into *linearNode) {
	end := strings.IndexAny(p.text, ".+^~?!$ ()")
	if end < 0 {
		end = len(p.text)
	}
	name := p.text[:end]
	other := strings.HasSuffix(name, string(markOther))
	n := into.child(strings.TrimSuffix(name, string(markOther)))
	if p.text = p.text[end:]; other {
		n.mark = markOther
	}
	if p.text != "" && strings.IndexByte("+^~?!$", p.text[0]) >= 0 {
		n.mark, p.text = p.text[0], p.text[1:]
	}
	switch {
	case strings.HasPrefix(p.text, ".("):
		p.text = p.text[2:]
		p.list(n)
		p.text = strings.TrimPrefix(p.text, ")")
	case strings.HasPrefix(p.text, "."):
		p.text = p.text[1:]
		p.one(n)
	}
}

func (n *linearNode) child(part string) *linearNode {
	if n.next == nil {
		n.next = map[string]*linearNode{}
	}
	if n.next[part] == nil {
		n.next[part] = &linearNode{}
	}
	return n.next[part]
}

// mark says what becomes of a weight: one of the marks, or 0 for one that the type's
// models do not have as transformers builds them.
func (t *linears) mark(module string) byte {
	if m := t.class.find(module); m != 0 {
		return m
	}
	if m := t.root.find(module); m != 0 {
		return m
	}
	for _, s := range t.starts {
		if rest, ok := strings.CutPrefix(module, s); ok {
			if m := t.root.find(rest); m != 0 {
				return m
			}
		}
	}
	return 0
}

func (n *linearNode) find(module string) byte {
	for module != "" && n != nil {
		var part string
		part, module, _ = strings.Cut(module, ".")
		if strings.Trim(part, "0123456789") == "" {
			part = "*"
		}
		n = n.next[part]
	}
	if n == nil {
		return 0
	}
	return n.mark
}

// alwaysLinear are the last parts of names that are linear modules in types of the
// table, and of another kind in none.
var alwaysLinear = sync.OnceValue(func() map[string]bool {
	linear, other := map[string]bool{}, map[string]bool{}
	done := map[string]bool{}
	for _, row := range linearRows() {
		_, tree, _ := strings.Cut(row, "|")
		if done[tree] {
			continue
		}
		done[tree] = true
		var root linearNode
		p := linearParser{text: tree}
		p.list(&root)
		root.last("", linear, other, other)
	}
	for part := range other {
		delete(linear, part)
	}
	return linear
})

// last notes the last parts of names.
func (n *linearNode) last(part string, linear, conv, other map[string]bool) {
	switch n.mark {
	case markLinear:
		linear[part] = true
	case markConv1D:
		conv[part] = true
	case markOther:
		other[part] = true
	}
	for part, below := range n.next {
		below.last(part, linear, conv, other)
	}
}
