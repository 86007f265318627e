package fuzz_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// targets returns the fuzz targets of this folder.
func targets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// What go test's -fuzz takes is a pattern, and it must match exactly one target.
func TestNoTargetsNameContainsAnothers(t *testing.T) {
	names := targets(t)
	if len(names) == 0 {
		t.Fatal("no targets found")
	}
	for _, a := range names {
		for _, b := range names {
			if a != b && strings.Contains(a, b) {
				t.Errorf("-fuzz=%s matches %s too", b, a)
			}
		}
	}
}
