package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// An invariant ends as internal: by the cause, or by a variable of the package that is made of it.
func TestInvariantsEndAsInternal(t *testing.T) {
	const text = `package p

var errNone = wire.ErrInternal.Errorf("none")

func check() error {
	if a {
		return errNone // internal
	}
	if b {
		return wire.At("p", "", 0, wire.ErrInternal.Errorf("lost")) // internal
	}
	if c {
		return wire.ErrRange.Errorf("far")
	}
	return nil
}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := source.Parse(dir, filepath.Join(dir, "p.go"))
	if err != nil {
		t.Fatal(err)
	}
	p := &source.Package{Files: []*source.File{f}}
	internal := internalErrors(p)
	found, all := 0, 0
	places(p, func(f *source.File, at ast.Stmt) {
		if all++; internal(f, at) {
			found++
		}
	})
	if found != 2 || all != 3 {
		t.Errorf("%d of %d places end as internal", found, all)
	}
	k := &known{list: []*reason{{file: "p.go", text: "x", why: "invariant: so"}}}
	if k.take(&place{File: "p.go", Text: "x"}) == nil || k.wrong == nil || k.take(&place{File: "p.go", Text: "x"}) != nil || k.left() != nil {
		t.Error("an invariant of another class is taken, or one reason twice")
	}
}

// Who reaches a place first is the test whose name was said last before it.
func TestPlacesAreReachedByTheTestThatRuns(t *testing.T) {
	by := reachedBy([]byte("=== RUN   TestA\n=== RUN   TestA/b\n\n=== REACHED 3\nx\n=== NAME  TestA\n\n=== REACHED 1\n"))
	if by[3] != "TestA/b" || by[1] != "TestA" || len(by) != 2 {
		t.Error(by)
	}
}

// Each test that a reason names is there.
func TestReasonsNameTests(t *testing.T) {
	k, err := readKnown("known.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, r := range k.list {
		pkg, name, ok := strings.Cut(r.test, ".")
		if !ok {
			continue
		}
		named++
		files, err := filepath.Glob(filepath.Join("../../..", pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(path string) bool {
			body, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(body), "func "+name+"(")
		}) {
			t.Errorf("%s: no test %s", r.file, r.test)
		}
	}
	if named < 50 {
		t.Errorf("%d reasons name a test", named)
	}
}

// A refusal is looked for by the seeds that come to it, by target.
func TestARefusalIsLookedForByItsSeeds(t *testing.T) {
	out := "=== RUN   FuzzA\n\n=== REACHED 3\n=== RUN   FuzzA/seed#1\n\n=== REACHED 7\n\n=== REACHED 7\n=== RUN   FuzzA/a.b\n\n=== REACHED 7\n=== RUN   FuzzB/seed#1\n\n=== REACHED 7\n=== REACHED x\n--- PASS: FuzzB\n"
	seeds := seedsOf([]byte(out))
	for id, want := range map[int][]string{3: {"^FuzzA$"}, 7: {`^FuzzA$/^(a\.b|seed#1)$`, "^FuzzB$/^(seed#1)$"}, 8: nil} {
		if got := patterns(seeds[id]); !slices.Equal(got, want) {
			t.Errorf("%d: %q, not %q", id, got, want)
		}
	}
}
