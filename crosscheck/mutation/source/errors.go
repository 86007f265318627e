package source

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
)

// Errors knows what makes an error in a package.
type Errors struct {
	Makers map[string]bool // functions of the package that always return a new error
	plain  map[string]bool // sentinels of the package without a class: what only its own code asks about
}

var (
	sentinel = regexp.MustCompile(`^[eE]rr[A-Z]`)
	errTypes = regexp.MustCompile(`^(Forbidden|Error|refused|problem)$`)
)

// ErrorsOf returns the makers of a package, and its sentinels without a class.
func ErrorsOf(p *Package) *Errors {
	w := &Errors{Makers: map[string]bool{"disallow": true}, plain: map[string]bool{}}
	for _, f := range p.Files {
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
				return true
			}
			if call, ok := v.Values[0].(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && NameOf(sel.X) == "errors" && sel.Sel.Name == "New" {
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
				if !w.Makers[name] && w.alwaysFails(body) {
					w.Makers[name], grown = true, true
				}
			}
		}
	}
	return w
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
func (w *Errors) alwaysFails(body *ast.BlockStmt) bool {
	returns, all := 0, true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			returns++
			if len(n.Results) == 0 || !w.Makes(n.Results[len(n.Results)-1]) {
				all = false
			}
		}
		return true
	})
	return returns > 0 && all
}

// Makes reports whether an expression is a new error of a class.
func (w *Errors) Makes(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.Makes(e.X)
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && e.Op == token.AND && errTypes.MatchString(NameOf(lit.Type))
	case *ast.Ident:
		return sentinel.MatchString(e.Name) && !w.plain[e.Name]
	case *ast.SelectorExpr:
		return sentinel.MatchString(e.Sel.Name)
	case *ast.CallExpr:
		name := NameOf(e.Fun)
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && name == "Errorf" {
			return !slices.Contains([]string{"fmt", "t", "b", "f", "tb"}, NameOf(sel.X))
		}
		if name == "Is" || name == "As" || name == "AsType" {
			return false
		}
		return w.Makers[name] || slices.ContainsFunc(e.Args, w.Makes)
	}
	return false
}

// NameOf returns the last name of an expression.
func NameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return NameOf(e.X)
	}
	return ""
}
