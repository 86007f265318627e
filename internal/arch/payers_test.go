package arch

import (
	"go/ast"
	"go/types"
)

// payers are the functions that charge an account, or ask whether it has ended,
// by themselves or through what they call. A call through an interface or
// a value is no payment, since what it calls is unknown here.
type payers struct {
	c     *checker
	calls map[*types.Func][]*types.Func
	known map[*types.Func]bool
}

func newPayers(c *checker) *payers {
	p := &payers{c: c, calls: map[*types.Func][]*types.Func{}, known: map[*types.Func]bool{}}
	for _, trees := range c.files {
		for _, tree := range trees {
			for _, d := range tree.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					if obj, ok := c.info.Defs[f.Name].(*types.Func); ok {
						p.calls[obj] = p.called(f.Body)
					}
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for f, calls := range p.calls {
			if !p.known[f] && p.any(calls) {
				p.known[f], changed = true, true
			}
		}
	}
	return p
}

// called lists the functions whose names are in a node.
func (p *payers) called(n ast.Node) (list []*types.Func) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if f, ok := p.c.info.Uses[id].(*types.Func); ok {
				list = append(list, f.Origin())
			}
		}
		return true
	})
	return list
}

func (p *payers) any(list []*types.Func) bool {
	for _, f := range list {
		if p.known[f] || charges(f) {
			return true
		}
	}
	return false
}

// charges reports a verb of package limits that costs, or asks for the end.
func charges(f *types.Func) bool {
	if f.Pkg() == nil || f.Pkg().Path() != module+"/limits" {
		return false
	}
	switch f.Name() {
	case "Step", "Take", "Err", "Items", "Alloc", "Hold", "Lease", "OpenFile", "Make", "Clone", "Append", "Grow", "String":
		return true
	}
	return false
}

// pays reports a node that calls a payer.
func (p *payers) pays(n ast.Node) bool { return p.any(p.called(n)) }

// bounded reports a range over what no file sizes: an array, a constant, a table
// of a package, a literal.
func bounded(c *checker, x ast.Expr) bool {
	x = ast.Unparen(x)
	tv := c.info.Types[x]
	if tv.Value != nil {
		return true
	}
	switch u := underlying(tv.Type).(type) {
	case *types.Basic:
		return true // bytes of a text, or a number
	case *types.Slice:
		if e, ok := u.Elem().Underlying().(*types.Basic); ok && e.Info()&types.IsString == 0 {
			return true
		}
	case *types.Array:
		return true
	case *types.Pointer:
		_, ok := u.Elem().Underlying().(*types.Array)
		return ok
	}
	if _, ok := x.(*ast.CompositeLit); ok {
		return true
	}
	if id := base(x); id != nil {
		if v, ok := c.info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			return true
		}
	}
	return false
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}
