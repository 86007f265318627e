package arch

import (
	"go/ast"
	"testing"
)

// Where files are opened to be read besides internal/folder, which never waits for a FIFO and
// opens no device, and why.
var otherReaders = map[string]string{
	"internal/folder": "the one way",
	"parser":          "opens what it has examined, without waiting",
	"examples":        "code for other modules, which cannot import an internal package",
	"crosscheck":      "tools of this tree that compare with other libraries",
	"corpus":          "a tool of this tree, which reads its recipes",
	"release":         "a tool of this tree, for those who release it",

	"internal/fixtures":  "files of this tree, for tests",
	"internal/quanttest": "files of this tree, for tests",
	"internal/ledger":    "files of this tree, for tests",
	"internal/site":      "a tool of this tree: its documents",
	"internal/skips":     "a tool of this tree: logs of tests",
	"internal/spool":     "a file that it has open already",
	"internal/output":    "lists the names of a folder",
}

// opensToRead reports whether a call opens a file by its path alone to read it.
func opensToRead(c *checker, s *source, n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	if m, ok := call.Fun.(*ast.SelectorExpr); ok && m.Sel.Name == "FS" && len(call.Args) == 0 {
		return true // of an os.Root: its files are opened as by os.Open
	}
	return selects("os", "Open", "ReadFile")(c, s, call.Fun) || selects("os", "OpenFile")(c, s, call.Fun) && onlyReads(call)
}

func TestFilesAreOpenedInOnePlace(t *testing.T) {
	c, used := check(t), map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if n == nil || !opensToRead(c, s, n) {
				return true
			}
			for at := range otherReaders {
				if s.path == at || s.in(at) {
					used[at] = true
					return true
				}
			}
			t.Errorf("%s: files are opened by internal/folder, which does not wait for a FIFO", place(n))
			return true
		})
	}
	for at := range otherReaders {
		if !used[at] {
			t.Errorf("%s opens no file: it needs no exception", at)
		}
	}
}

// The rule sees each way to open a file, and takes no writing for one.
func TestOpensOfFilesAreSeen(t *testing.T) {
	for src, want := range map[string]bool{
		`os.Open("x")`: true, `os.ReadFile("x")`: true, `os.OpenFile("x", os.O_RDONLY, 0)`: true, `os.Create("x")`: false, `os.OpenFile("x", os.O_RDWR, 0)`: false, `os.Stat("x")`: false, `r.FS()`: true,
	} {
		if got := finds(t, opensToRead, "import \"os\"\nfunc f() { "+src+" }"); got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}
