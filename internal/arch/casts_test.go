package arch

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// Two lists of the same names, of which a conversion makes one the other, come apart when
// one of them grows: there is one list, or a table that joins them.
func TestNoEnumIsCastIntoAnother(t *testing.T) {
	c := check(t)
	seen := 0
	for _, s := range sources(t) {
		if s.test() || s.generated() {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || !c.info.Types[call.Fun].IsType() {
				return true
			}
			to, from := enum(c.info.Types[call.Fun].Type), enum(c.info.Types[call.Args[0]].Type)
			if to != nil {
				seen++
			}
			if to != nil && from != nil && to != from {
				t.Errorf("%s: %s is made %s by a cast", place(call), from, to)
			}
			return true
		})
	}
	if seen < 20 {
		t.Errorf("only %d conversions to a type of the module were found", seen)
	}
}

// enum is a named integer of the module, nil for any other type.
func enum(t types.Type) *types.TypeName {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !strings.HasPrefix(named.Obj().Pkg().Path(), module) {
		return nil
	}
	b, ok := named.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return nil
	}
	return named.Obj()
}
