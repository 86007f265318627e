package arch

import (
	"go/ast"
	"go/parser"
	"path"
	"testing"
)

// A rule that finds nothing anywhere may be a rule that sees nothing: each one
// is shown a file that breaks it.
func TestEveryRuleFindsItsCase(t *testing.T) {
	broken := map[string]string{
		"unsafe":                          `import _ "unsafe"`,
		"reflect":                         `import _ "reflect"`,
		"sync.Pool":                       "import \"sync\"\nvar p sync.Pool",
		"a linkname":                      "//go:linkname f runtime.f\nfunc f()",
		"goto":                            "func f() { l: goto l }",
		"func init":                       "func init() {}",
		"an import with a dot":            `import . "fmt"`,
		"a write to a package's variable": "var table [3]struct{ n []int }\nfunc f() { table[1].n[0]++ }",
		"a door to the system: files, processes, network": `import _ "os"`,
		"a goroutine": "func f() { go f() }",
		"a recover that is not at an entry point": "func f() { defer func() { recover() }() }",
		"printing":                  "import \"fmt\"\nfunc f() { fmt.Println(1) }",
		"os.Exit":                   "import \"os\"\nfunc f() { os.Exit(1) }",
		"a note of unfinished work": "// TO" + "DO: later\nfunc f() {}",
		`a panic that does not begin with "internal error:"`:                                             `func f(s string) { panic("bad " + s) }`,
		"the machine's clock or chance, which would make a verdict depend on more than bytes and policy": "import \"time\"\nvar t = time.Now()",
	}
	fine := "import \"fmt\"\nvar table = [2]int{1, 2}\nfunc f(s string) { local := table; local[0]++; if s == \"\" { panic(fmt.Sprintf(\"internal error: %s\", s)) } }"
	for _, rule := range forbidden {
		if src, ok := broken[rule.what]; !ok {
			t.Errorf("%s: no case", rule.what)
		} else if !finds(t, rule.found, src) {
			t.Errorf("%s: not found in %q", rule.what, src)
		}
		if finds(t, rule.found, fine) {
			t.Errorf("%s: found in %q", rule.what, fine)
		}
	}
}

func finds(t *testing.T, rule func(*checker, *source, ast.Node) bool, src string) (found bool) {
	t.Helper()
	c, s := one(t, src)
	ast.Inspect(s.tree, func(n ast.Node) bool {
		found = found || n != nil && rule(c, s, n)
		return true
	})
	return found
}

func one(t *testing.T, src string) (*checker, *source) {
	t.Helper()
	text := []byte("package broken\n" + src)
	tree, err := parser.ParseFile(fset, "broken/broken.go", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker()
	name := path.Join(module, "broken")
	c.files[name] = []*ast.File{tree}
	if _, err := c.Import(name); err != nil {
		t.Fatal(err)
	}
	return c, &source{"broken/broken.go", text, tree}
}

func TestMakesAreJudgedByTheirValue(t *testing.T) {
	for src, loose := range map[string]int{
		"func f() { _ = make([]byte, 64<<10) }":                              0,
		"const n = 8\nfunc f() { _ = make([]byte, n, 2*n) }":                 0,
		"func f() { var a [4]int; _ = make([]byte, len(a)) }":                0,
		"func f() { _ = make(map[string]int); _ = make(chan int) }":          0,
		"func make(int) {}\nfunc f(n int) { make(n) }":                       0,
		"func f(n int) { _ = make([]byte, n) }":                              1,
		"func f(s []int) { _ = make([]byte, 0, len(s)) }":                    1,
		"func f(n int) { _ = make(map[string]int, n) }":                      1,
		"const n = 8\nfunc f(n int) { _ = make([]byte, n) }":                 1,
		"import \"strconv\"\nfunc f() { _ = make([]byte, strconv.IntSize) }": 1,
		"func f[T any](n int) []T { return (make)([]T, n) }":                 1,
	} {
		c, s := one(t, src)
		if _, got := makes(c, s.tree); len(got) != loose {
			t.Errorf("%q: %d found, want %d", src, len(got), loose)
		}
	}
}

func TestTheTableOfImportsRefuses(t *testing.T) {
	for _, c := range []struct {
		dir, name string
		want      bool
	}{
		{"parser/npz", "parser/zip", true},
		{"parser/npy", "parser/zip", false},
		{"parser/npz", "quant", false},
		{"quant", "parser/gguf", false},
		{"parser", "parser/gguf", true},
		{"vm", "parser/pth", false},
		{"limits", "internal/wire", false},
		{"corpus/amn-corpus", "corpus", true},
		{"corpus/amn-corpus", "parser", false},
	} {
		r, ok := row(mayImport, c.dir)
		if got := ok && allowed(r, c.name); got != c.want {
			t.Errorf("%s imports %s: %t", c.dir, c.name, got)
		}
	}
	if _, ok := row(mayImport, "parser/new"); ok {
		t.Error("a package without a row has one")
	}
}
