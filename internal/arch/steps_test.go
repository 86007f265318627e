package arch

import (
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"path"
	"strings"
	"testing"
)

// The packages whose loops follow what a file says.
var stepping = []string{"parser", "vm", "quant", "internal/scheme", "internal/encode", "convert", "merge", "compare", "internal/model", "internal/transformers", "internal/wire", "internal/strictjson", "internal/jsontree", "internal/tokenizer", "internal/family"}

// A loop over counted things (structures, names, iterators and maps of them) charges the account as
// it goes, which notices the end of the operation, or it is listed here with its bound. Loops over
// bytes and numbers are bounded by the buffers that were charged for them.
func TestLoopsOverCountedThingsCharge(t *testing.T) {
	if testing.Short() {
		t.Skip("the loops are looked at in a whole run")
	}
	c := check(t)
	p := newPayers(c)
	looked := 0
	listed, used := map[string]bool{}, map[string]bool{}
	for _, list := range unpaid {
		for _, key := range list {
			listed[key] = true
		}
	}
	for _, s := range sources(t) {
		if s.test() || !s.in(stepping...) {
			continue
		}
		ast.Inspect(s.tree, func(node ast.Node) bool {
			loop, ok := node.(*ast.RangeStmt)
			if !ok || bounded(c, loop.X) {
				return true
			}
			looked++
			if p.pays(loop.Body) || p.pays(loop.X) || yields(loop.Body) {
				return true
			}
			folder, _, _ := strings.Cut(s.path, "/")
			key := folder + ": " + types.ExprString(loop.X)
			if listed[key] {
				used[key] = true
			} else {
				t.Errorf("%s: the loop over %s never charges: step in it, or add %q to unpaid under what bounds it", place(node), types.ExprString(loop.X), key)
			}
			return true
		})
	}
	for key := range listed {
		if !used[key] {
			t.Logf("no such loop any more: remove %q from unpaid", key)
		}
	}
	if looked < 100 {
		t.Errorf("only %d loops were looked at", looked)
	}
}

// yields reports the loop of an iterator, which the caller's loop pays for.
func yields(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			id, isName := call.Fun.(*ast.Ident)
			found = found || isName && id.Name == "yield"
		}
		return true
	})
	return found
}

func TestLoopsThatChargeAreRecognized(t *testing.T) {
	const src = `package broken
import "github.com/anamnesis-go/anamnesis/limits"
var table []string
func helper(b *limits.Budget) { b.Items(1) }
func paid1(b *limits.Budget, s []string) { for range s { b.Step(1) } }
func paid2(b *limits.Budget, s []string) { for range s { helper(b) } }
func paid3(s []byte) { for range s { } }
func paid4(s [3]string) { for range s { } }
func paid5() { for range table { } }
func paid6(s []string, yield func(string) bool) { for _, x := range s { yield(x) } }
func free1(b *limits.Budget, s []string) { b.Step(1); for range s { } }
func free2(s map[string]int) { n := 0; for range s { n++ } }
func free3(s []string, step func()) { for range s { step() } }
`
	tree, err := parser.ParseFile(fset, "broken/loops.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	shared := *check(t)
	c := &shared
	c.files, c.done = maps.Clone(c.files), maps.Clone(c.done) // other tests do not see what is broken
	name := path.Join(module, "broken")
	c.files[name] = []*ast.File{tree}
	if _, err := c.Import(name); err != nil {
		t.Fatal(err)
	}
	p := newPayers(c)
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name == "helper" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok {
				got := bounded(c, loop.X) || p.pays(loop.Body) || yields(loop.Body)
				if got != strings.HasPrefix(f.Name.Name, "paid") {
					t.Errorf("%s: %t", f.Name.Name, got)
				}
			}
			return true
		})
	}
}
