package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// A place is a statement that makes an error of a class: a refusal.
type place struct {
	Package, File string
	Line          int
	Text          string
	Reached       bool
	By            string // the file of the corpus that reaches it
}

// A finder finds the places of one package.
type finder struct {
	makers map[string]bool // functions of the package that always return a new error
	plain  map[string]bool // sentinels of the package without a class: what only its own code asks about
	found  func(f *source.File, at ast.Stmt)
}

var (
	sentinel = regexp.MustCompile(`^[eE]rr[A-Z]`)
	errTypes = regexp.MustCompile(`^(Forbidden|Error|refused|problem)$`)
)

// finderOf returns a finder that knows the makers of a package, and its sentinels without a class.
func finderOf(p *source.Package) finder {
	w := finder{makers: map[string]bool{"disallow": true}, plain: map[string]bool{}}
	for _, f := range p.Files {
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
				return true
			}
			if call, ok := v.Values[0].(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && nameOf(sel.X) == "errors" && sel.Sel.Name == "New" {
					w.plain[v.Names[0].Name] = true
				}
			}
			return true
		})
	}
	for grown := true; grown; { // a maker may call another
		grown = false
		for _, f := range p.Files {
			for name, body := range functions(f.Tree) {
				if !w.makers[name] && w.alwaysFails(body) {
					w.makers[name], grown = true, true
				}
			}
		}
	}
	return w
}

// places calls found for each place of a package.
func places(p *source.Package, found func(f *source.File, at ast.Stmt)) {
	w := finderOf(p)
	w.found = found
	for _, f := range p.Files {
		for _, d := range f.Tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !w.makers[fn.Name.Name] && fn.Name.Name != "Error" {
				w.list(f, fn.Body.List)
			}
		}
	}
}

// functions returns the functions of a file by name: declared, or assigned to a variable.
func functions(tree *ast.File) map[string]*ast.BlockStmt {
	all := map[string]*ast.BlockStmt{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil && returnsError(n.Type) {
				all[n.Name.Name] = n.Body
			}
		case *ast.AssignStmt:
			for i, r := range n.Rhs {
				if lit, ok := r.(*ast.FuncLit); ok && i < len(n.Lhs) && returnsError(lit.Type) {
					if id, ok := n.Lhs[i].(*ast.Ident); ok {
						all[id.Name] = lit.Body
					}
				}
			}
		}
		return true
	})
	return all
}

func returnsError(t *ast.FuncType) bool {
	if t.Results == nil || len(t.Results.List) == 0 {
		return false
	}
	last := t.Results.List[len(t.Results.List)-1].Type
	if star, ok := last.(*ast.StarExpr); ok {
		last = star.X
	}
	id, ok := last.(*ast.Ident)
	return ok && (id.Name == "error" || errTypes.MatchString(id.Name))
}

// alwaysFails reports whether every return of a function makes an error.
func (w *finder) alwaysFails(body *ast.BlockStmt) bool {
	returns, all := 0, true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			returns++
			if len(n.Results) == 0 || !w.makes(n.Results[len(n.Results)-1]) {
				all = false
			}
		}
		return true
	})
	return returns > 0 && all
}

// makes reports whether an expression is a new error of a class.
func (w *finder) makes(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.makes(e.X)
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && e.Op == token.AND && errTypes.MatchString(nameOf(lit.Type))
	case *ast.Ident:
		return sentinel.MatchString(e.Name) && !w.plain[e.Name]
	case *ast.SelectorExpr:
		return sentinel.MatchString(e.Sel.Name)
	case *ast.CallExpr:
		name := nameOf(e.Fun)
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && name == "Errorf" {
			return !slices.Contains([]string{"fmt", "t", "b", "f", "tb"}, nameOf(sel.X))
		}
		if name == "Is" || name == "As" || name == "AsType" {
			return false
		}
		return w.makers[name] || slices.ContainsFunc(e.Args, w.makes)
	}
	return false
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return nameOf(e.X)
	}
	return ""
}

// list finds the places among statements: the innermost statement that makes an error.
func (w *finder) list(f *source.File, list []ast.Stmt) {
	for _, s := range list {
		own := false
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				w.list(f, n.List)
				return false
			case *ast.AssignStmt:
				for i, r := range n.Rhs {
					if _, isFunc := r.(*ast.FuncLit); isFunc && i < len(n.Lhs) && w.makers[nameOf(n.Lhs[i])] {
						return false // what it makes counts where it is called
					}
				}
			case *ast.CaseClause:
				w.list(f, n.Body)
				return false
			case *ast.CommClause:
				w.list(f, n.Body)
				return false
			case *ast.BinaryExpr:
				return n.Op != token.EQL && n.Op != token.NEQ // a comparison with a cause
			case *ast.CallExpr:
				own = own || w.makes(n)
				name := nameOf(n.Fun)
				return name != "Is" && name != "As"
			case *ast.UnaryExpr:
				own = own || w.makes(n)
			case *ast.ReturnStmt:
				own = own || len(n.Results) > 0 && w.makes(n.Results[len(n.Results)-1])
			}
			return true
		})
		if _, isDecl := s.(*ast.DeclStmt); own && !isDecl {
			w.found(f, s)
		}
	}
}
