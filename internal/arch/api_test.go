package arch

import (
	"bytes"
	"flag"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write api/*.txt anew")

// notPublic are the folders that no other module has a reason to import.
var notPublic = []string{"internal", "asm", "fuzz", "corpus", "crosscheck", "cli", "limits/limitstest"}

// The files of api/ list what each public package exports, so that a change of
// the surface is seen in review. go test ./internal/arch -run Surface -update
// writes them anew.
func TestTheSurfaceIsTheOneReported(t *testing.T) {
	if testing.Short() {
		t.Skip("the surface is compared in a whole run")
	}
	got := surface(t)
	dir := filepath.Join(root(t), "api")
	if *update {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range got {
		name := filepath.Join(dir, file)
		if *update {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("api/%s: %v", file, err)
		} else if d := cmp.Diff(string(want), text); d != "" {
			t.Errorf("api/%s is not the surface (go test ./internal/arch -run Surface -update):\n%s", file, d)
		}
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range old {
		if _, ok := got[e.Name()]; !ok {
			t.Errorf("api/%s is of no public package: remove it", e.Name())
		}
	}
}

// surface is the report of each public package by its file's name.
func surface(t *testing.T) map[string]string {
	lines := map[string][]string{}
	for _, s := range sources(t) {
		if s.test() || s.in(notPublic...) || s.tree.Name.Name == "main" {
			continue
		}
		file := strings.ReplaceAll(s.dir(), "/", "-") + ".txt"
		for _, d := range s.tree.Decls {
			lines[file] = append(lines[file], exported(d)...)
			lines[file] = append(lines[file], aliased(t, d)...)
		}
	}
	out := map[string]string{}
	for file, list := range lines {
		slices.Sort(list)
		out[file] = strings.Join(slices.Compact(list), "\n") + "\n"
	}
	return out
}

// aliased lists the members and methods of internal types that a public package gives a name:
// they are its surface too.
func aliased(t *testing.T, d ast.Decl) (lines []string) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return nil
	}
	for _, s := range g.Specs {
		spec, ok := s.(*ast.TypeSpec)
		if !ok || spec.Assign == token.NoPos || !spec.Name.IsExported() {
			continue
		}
		of, ok := spec.Type.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		for _, s := range sources(t) {
			if s.test() || !s.in("internal") || s.tree.Name.Name != of.X.(*ast.Ident).Name {
				continue
			}
			for _, d := range s.tree.Decls {
				lines = append(lines, ofType(d, of.Sel.Name)...)
			}
		}
	}
	return lines
}

// ofType lists what one declaration adds to the surface of a type.
func ofType(d ast.Decl, name string) (lines []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && base(receiver(d)).Name == name {
			return exported(d)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.Name == name {
				lines = append(lines, typeLines(spec)...)
			}
		}
	}
	return lines
}

// exported lists what one declaration adds to the surface, a line each.
func exported(d ast.Decl) (lines []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || base(receiver(d)).IsExported()) {
			lines = append(lines, oneLine(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						lines = append(lines, strings.TrimSpace(d.Tok.String()+" "+n.Name+" "+oneLine(s.Type)))
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, typeLines(s)...)
				}
			}
		}
	}
	return lines
}

// receiver is the type of a method's receiver, without its type parameters.
func receiver(d *ast.FuncDecl) ast.Expr {
	e := d.Recv.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	return e
}

// typeLines are a type and its exported members.
func typeLines(s *ast.TypeSpec) []string {
	head := "type " + s.Name.Name
	var members *ast.FieldList
	switch u := s.Type.(type) {
	case *ast.StructType:
		head, members = head+" struct", u.Fields
	case *ast.InterfaceType:
		head, members = head+" interface", u.Methods
	default:
		if s.Assign != token.NoPos {
			head += " ="
		}
		return []string{head + " " + oneLine(s.Type)}
	}
	lines := []string{head}
	for _, f := range members.List {
		if len(f.Names) == 0 {
			lines = append(lines, head+", embedded "+oneLine(f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, head+", "+n.Name+" "+strings.TrimPrefix(oneLine(f.Type), "func"))
			}
		}
	}
	return lines
}

// oneLine prints a node without its line breaks.
func oneLine(n ast.Node) string {
	if n == nil || n == ast.Expr(nil) {
		return ""
	}
	var out bytes.Buffer
	if err := printer.Fprint(&out, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
