package source_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// Insertions of nodes that begin or end together nest.
func TestInsertionsNest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.go")
	if err := os.WriteFile(path, []byte("package p\n\nvar x = a && b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := source.Parse(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok {
			f.Around(b, 1, "<1 ", " 1>")
			f.Around(b.X, 2, "<2 ", " 2>")
			f.Around(b.Y, 2, "<3 ", " 3>")
		}
		return true
	})
	overlay, err := source.Overlay(dir, "m", t.TempDir(), "q", "package q\n", []*source.Package{{Files: []*source.File{f}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(filepath.Dir(overlay), "1.go"))
	if want := "package p; import \"m/internal/q\"\n\nvar x = <1 <2 a 2> && <3 b 3> 1>\n"; string(got) != want || err != nil {
		t.Errorf("%q, %v, not %q", got, err, want)
	}
}
