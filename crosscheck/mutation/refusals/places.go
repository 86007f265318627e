package main

import (
	"go/ast"
	"go/token"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// A place is a statement that makes an error of a class: a refusal.
type place struct {
	Package, File string
	Line          int
	Text          string
	Internal      bool // it ends as an internal error
	Reached       bool
	By            string // the test that reaches it first, with the file of the corpus in its name
}

// A finder finds the places of one package.
type finder struct {
	*source.Errors
	found func(f *source.File, at ast.Stmt)
}

// places calls found for each place of a package.
func places(p *source.Package, found func(f *source.File, at ast.Stmt)) {
	w := finder{source.ErrorsOf(p), found}
	for _, f := range p.Files {
		for _, d := range f.Tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !w.Makers[fn.Name.Name] && fn.Name.Name != "Error" {
				w.list(f, fn.Body.List)
			}
		}
	}
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
					if _, isFunc := r.(*ast.FuncLit); isFunc && i < len(n.Lhs) && w.Makers[source.NameOf(n.Lhs[i])] {
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
				own = own || w.Makes(n)
				name := source.NameOf(n.Fun)
				return name != "Is" && name != "As"
			case *ast.UnaryExpr:
				own = own || w.Makes(n)
			case *ast.ReturnStmt:
				own = own || len(n.Results) > 0 && w.Makes(n.Results[len(n.Results)-1])
			}
			return true
		})
		if _, isDecl := s.(*ast.DeclStmt); own && !isDecl {
			w.found(f, s)
		}
	}
}
