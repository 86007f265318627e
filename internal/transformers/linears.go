package transformers

import (
	_ "embed"
	"strings"
	"sync"
)

// linearsText lists, for every type of transformers, the weights that it quantizes with
// bitsandbytes. crosscheck/Linears generates it.
//
//go:embed linears.txt
var linearsText string

// The marks of weights in the table.
const (
	markLinear = '+'
	markConv1D = '^'
	markKept   = '~' // linear, and left alone
	markMixed  = '?' // linear, and left alone in some classes of the type
	markLast   = '$' // linear, and left alone in the last layer
	markOther  = '_' // a module of another kind
	markFused  = '!'
)

// Linears has the modules of one type.
type Linears struct {
	kind   string // the model_type
	starts []string
	root   node
	class  *node // of the class, where it differs from its type: see classes.go
	// sometimes has names of modules that exist under some configurations only: see
	// sometimes.go.
	sometimes map[string]byte
	// linear and other are the last parts of names, computed on demand.
	linear, other map[string]bool
}

// A node is one part of a name, with its children.
type node struct {
	mark byte // 0 if no weight ends here
	next map[string]*node
}

// linearsOf returns the row of a type, nil for none.
func linearsOf(modelType string) *Linears {
	row, ok := linearRows()[modelType]
	if !ok {
		return nil
	}
	starts, tree, _ := strings.Cut(row, "|")
	t := &Linears{kind: modelType, starts: strings.Fields(starts), sometimes: sometimesRows()[modelType]}
	p := parser{text: tree}
	p.list(&t.root)
	return t
}

// linearRows are the rows by type.
var linearRows = sync.OnceValue(func() map[string]string { return rowsByType(linearsText) })

// rowsByType reads lines of types, a bar and the row.
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

// A parser reads "a.(b+ c.d~) e^".
type parser struct{ text string }

func (p *parser) list(into *node) {
	for p.text != "" && p.text[0] != ')' {
		p.one(into)
		p.text = strings.TrimPrefix(p.text, " ")
	}
}

func (p *parser) one(into *node) {
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

func (n *node) child(part string) *node {
	if n.next == nil {
		n.next = map[string]*node{}
	}
	if n.next[part] == nil {
		n.next[part] = &node{}
	}
	return n.next[part]
}

// mark returns the mark of a weight, 0 if the models of the type do not have it as
// transformers builds them by default.
func (t *Linears) mark(module string) byte {
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

func (n *node) find(module string) byte {
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

// alwaysLinear are the last parts of names that are linear modules in some types and
// never modules of another kind.
var alwaysLinear = sync.OnceValue(func() map[string]bool {
	linear, other := map[string]bool{}, map[string]bool{}
	done := map[string]bool{}
	for _, row := range linearRows() {
		_, tree, _ := strings.Cut(row, "|")
		if done[tree] {
			continue
		}
		done[tree] = true
		var root node
		p := parser{text: tree}
		p.list(&root)
		root.last("", linear, other, other)
	}
	for part := range other {
		delete(linear, part)
	}
	return linear
})

// last collects the last parts of names.
func (n *node) last(part string, linear, conv, other map[string]bool) {
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
