package arch

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const families = "internal/family"

// isFamilyRow reports a file with rows of families.
func isFamilyRow(s *source) bool { return strings.HasPrefix(path.Base(s.path), "row_") }

// namesTokenizer reports the files about vocabularies, whose kinds llama.cpp names as it
// names architectures ("llama", "bert", "gpt2").
func namesTokenizer(s *source) bool {
	name := path.Base(s.path)
	return strings.HasPrefix(name, "vocab") || strings.HasPrefix(name, "back_vocab") || name == "pres.go"
}

// declared lists the names that a file declares at the top, those of methods with a dot before
// them.
func declared(s *source) (list []string) {
	for _, d := range s.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				list = append(list, "."+d.Name.Name)
			} else {
				list = append(list, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						list = append(list, n.Name)
					}
				case *ast.TypeSpec:
					list = append(list, spec.Name.Name)
				}
			}
		}
	}
	return list
}

// rowTexts lists what a row says about itself: its architecture and model type in llama.cpp and
// transformers, and the classes that it is for.
func rowTexts(s *source) (arches, classes []string) {
	ast.Inspect(s.tree, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if id, ok := lit.Type.(*ast.Ident); !ok || id.Name != "row" {
			return true
		}
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			var all []string
			ast.Inspect(kv.Value, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					value, _ := strconv.Unquote(text.Value)
					all = append(all, value)
				}
				return true
			})
			switch id, _ := kv.Key.(*ast.Ident); id.Name {
			case "arch", "model":
				arches = append(arches, all...)
			case "names":
				classes = append(classes, all...)
			}
		}
		return false
	})
	return arches, classes
}

// A fact about one architecture is in a file of rows. The other files of the package know what
// rows are made of, and call nothing that a row declares.
func TestGenericFilesNameNoFamily(t *testing.T) {
	rows, arches, classes := map[string]string{}, map[string]bool{}, map[string]bool{}
	found := 0
	for _, s := range sources(t) {
		if s.dir() != families || s.test() || !isFamilyRow(s) {
			continue
		}
		for _, name := range declared(s) {
			rows[name] = s.path
		}
		a, c := rowTexts(s)
		for _, text := range a {
			arches[text] = text != "clip" // llama.cpp's one architecture for all vision parts
		}
		for _, text := range c {
			classes[text] = true
		}
		found += len(c)
	}
	if found < 100 {
		t.Fatalf("only %d classes are found in rows", found)
	}
	for _, s := range sources(t) {
		if s.dir() != families || s.test() || isFamilyRow(s) || s.generated() {
			continue
		}
		own := declared(s)
		check := func(id *ast.Ident, name string) {
			if rows[name] != "" && !slices.Contains(own, name) {
				t.Errorf("%s: %s is declared in %s: move what all need to a file of its own", place(id), id.Name, rows[name])
			}
		}
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "row" {
					t.Errorf("%s: a row is in a file of rows, row_*.go", place(n))
				}
			case *ast.KeyValueExpr: // the name of a field is not one of a row
				ast.Inspect(n.Value, visit)
				return false
			case *ast.SelectorExpr:
				check(n.Sel, "."+n.Sel.Name)
				ast.Inspect(n.X, visit)
				return false
			case *ast.Ident:
				check(n, n.Name)
			case *ast.BasicLit:
				text, _ := strconv.Unquote(n.Value)
				before, _, dotted := strings.Cut(text, ".")
				dotted = dotted && !strings.HasPrefix(text, "llama.cpp")
				if n.Kind == token.STRING && (classes[text] || arches[text] && !namesTokenizer(s) || dotted && arches[before]) {
					t.Errorf("%s: %s names a family: it belongs to the family's row", place(n), n.Value)
				}
			}
			return true
		}
		ast.Inspect(s.tree, visit)
	}
}
