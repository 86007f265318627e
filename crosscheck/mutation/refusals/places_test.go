package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// A place is a statement that makes an error of a class, by itself or by a function that does
// nothing else; a comparison with a cause, and what only passes an error on, are none.
func TestPlacesAreStatementsThatMakeAnError(t *testing.T) {
	const text = `package p

var errEnough = errors.New("nobody asks for more")

func check(n int) error {
	if n > 100 {
		return errEnough // which has no class
	}
	if n < 0 {
		return wire.ErrRange.Errorf("below zero") // a place
	}
	if err := other(n); err != nil {
		return err
	}
	if err == errKnown {
		return nil
	}
	switch {
	case n > 9:
		return c.fail(n) // a place
	case errors.Is(err, wire.ErrRange):
		return nil
	case n == 7:
		return &Forbidden{Name: "seven"} // a place
	}
	bad := func() error { return wire.ErrSyntax.Errorf("bad") }
	if n == 3 {
		return wire.At("p", "", 0, bad()) // a place
	}
	t.Errorf("a test's own")
	return nil
}

func (c *cursor) fail(n int) error { return wire.At("p", "", 0, wire.ErrSyntax.Errorf("%d", n)) }
`
	dir := t.TempDir()
	path := filepath.Join(dir, "p.go")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := source.Parse(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []int
	places(&source.Package{Files: []*source.File{f}}, func(f *source.File, at ast.Stmt) { got = append(got, f.Line(at.Pos())) })
	for _, c := range f.Tree.Comments {
		if c.Text() == "a place\n" {
			want = append(want, f.Line(c.Pos()))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("places in lines %v, not %v", got, want)
	}
}
