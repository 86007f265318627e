package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// Package asm exports what another package of the module uses, be it in tests: a name
// that no file outside of asm selects is unexported. Methods that interfaces of the
// standard library ask for are not selected by name.
func TestAsmExportsWhatOthersUse(t *testing.T) {
	selected := map[string]bool{"String": true}
	for _, s := range sources(t) {
		if s.in("asm") || !slices.ContainsFunc(s.tree.Imports, func(i *ast.ImportSpec) bool { return strings.Contains(i.Path.Value, module) }) {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				selected[n.Sel.Name] = true
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok {
					selected[id.Name] = true
				}
			}
			return true
		})
	}
	found := 0
	for _, s := range sources(t) {
		if s.dir() != "asm" || s.test() {
			continue
		}
		for _, d := range s.tree.Decls {
			for _, line := range exported(d) {
				found++
				if name := exportedName(line); !selected[name] {
					t.Errorf("%s: %s is used in package asm alone: unexport it", s.path, line)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d exported names were found", found)
	}
}

// The account carries the context: a function of the surface that takes one takes it
// first.
func TestTheAccountIsTheFirstArgument(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if s.test() || s.in(notPublic...) {
			continue
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			for i, p := range f.Type.Params.List {
				star, ok := p.Type.(*ast.StarExpr)
				if !ok {
					continue
				}
				if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "Budget" {
					seen++
					if i > 0 {
						t.Errorf("%s: %s takes the account as its argument %d", place(f), f.Name.Name, i+1)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d functions with an account were found", seen)
	}
}

// exportedName is the name that a line of the surface is about.
func exportedName(line string) string {
	if _, field, ok := strings.Cut(line, ", "); ok && strings.HasPrefix(line, "type ") {
		line = field
	} else if _, method, ok := strings.Cut(line, ") "); ok && strings.HasPrefix(line, "func (") {
		line = method
	} else {
		_, line, _ = strings.Cut(line, " ")
	}
	return line[:len(line)-len(strings.TrimLeftFunc(line, isLetter))]
}

func isLetter(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
